vm.module public @vm_terms {
  vm.import private @hal.buffer_view.assert(%view : !vm.ref<!hal.buffer_view>, %message : !vm.buffer, %element_type : i32, %encoding_type : i32, %shape : i64 ...)
  vm.import private @hal.buffer_view.create(%buffer : !vm.ref<!hal.buffer>, %offset : i64, %length : i64, %element_type : i32, %encoding_type : i32, %shape : i64 ...) -> !vm.ref<!hal.buffer_view>
  vm.import private @hal.buffer_view.buffer(%view : !vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer>
  vm.import private @hal.buffer_view.dim(%view : !vm.ref<!hal.buffer_view>, %index : i32) -> i64
  vm.import private @hal.buffer_view.rank(%view : !vm.ref<!hal.buffer_view>) -> i32
  vm.import private @hal.buffer_view.element_type(%view : !vm.ref<!hal.buffer_view>) -> i32
  vm.import private @hal.buffer_view.encoding_type(%view : !vm.ref<!hal.buffer_view>) -> i32
  vm.import private @custom.number() -> i64
  vm.rodata private @message "input"
  // What is asked of a view that is made here is known.
  vm.export @own_view
  vm.func private @own_view(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%n, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %d = vm.call @hal.buffer_view.dim(%w, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.call @hal.buffer_view.dim(%w, %one32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %f = vm.call @hal.buffer_view.dim(%w, %five32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %r = vm.call @hal.buffer_view.rank(%w) : (!vm.ref<!hal.buffer_view>) -> i32
    %t = vm.call @hal.buffer_view.element_type(%w) : (!vm.ref<!hal.buffer_view>) -> i32
    %r64 = vm.ext.i32.i64.u %r : i32 -> i64
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %t, %one32, [%e, %d, %r64]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %y = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %t, %one32, [%e, %f]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %x, %y : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // A rank above the limit is not known, nor is a type that is an argument.
  vm.export @unknown_view
  vm.func private @unknown_view(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %p, %one32, [%four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %u = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %p, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %d = vm.call @hal.buffer_view.dim(%w, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %r = vm.call @hal.buffer_view.rank(%w) : (!vm.ref<!hal.buffer_view>) -> i32
    %t = vm.call @hal.buffer_view.element_type(%u) : (!vm.ref<!hal.buffer_view>) -> i32
    %r64 = vm.ext.i32.i64.u %r : i32 -> i64
    %y = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %t, %one32, [%d, %r64]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %z = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %t, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %s = vm.select.ref %p, %w, %x : !vm.ref<!hal.buffer_view>
    %k = vm.select.ref %p, %w, %w : !vm.ref<!hal.buffer_view>
    vm.return %w, %y, %z, %s, %k : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // Arithmetic on dims that are known.
  vm.export @folded
  vm.func private @folded(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%eight, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %e = vm.call @hal.buffer_view.dim(%w, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %f = vm.call @hal.buffer_view.dim(%w, %one32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %r = vm.call @hal.buffer_view.rank(%w) : (!vm.ref<!hal.buffer_view>) -> i32
    %add64 = vm.add.i64 %e, %f : i64
    %sub64 = vm.sub.i64 %e, %f : i64
    %mul64 = vm.mul.i64 %e, %f : i64
    %and64 = vm.and.i64 %e, %f : i64
    %or64 = vm.or.i64 %e, %f : i64
    %xor64 = vm.xor.i64 %e, %f : i64
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%add64, %sub64, %mul64, %and64, %or64, %xor64]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %e32 = vm.trunc.i64.i32 %e : i64 -> i32
    %f32b = vm.trunc.i64.i32 %f : i64 -> i32
    %add32 = vm.add.i32 %e32, %f32b : i32
    %addext = vm.ext.i32.i64.s %add32 : i32 -> i64
    %sub32 = vm.sub.i32 %e32, %f32b : i32
    %subext = vm.ext.i32.i64.s %sub32 : i32 -> i64
    %mul32 = vm.mul.i32 %e32, %f32b : i32
    %mulext = vm.ext.i32.i64.u %mul32 : i32 -> i64
    %and32 = vm.and.i32 %e32, %f32b : i32
    %andext = vm.ext.i32.i64.u %and32 : i32 -> i64
    %or32 = vm.or.i32 %e32, %f32b : i32
    %orext = vm.ext.i32.i64.u %or32 : i32 -> i64
    %xor32 = vm.xor.i32 %e32, %f32b : i32
    %xorext = vm.ext.i32.i64.u %xor32 : i32 -> i64
    %y = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%addext, %subext, %mulext, %andext, %orext, %xorext]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %x, %y : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // A choice by what is known.
  vm.export @selected
  vm.func private @selected(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%eight, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %q = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, []) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %e = vm.call @hal.buffer_view.dim(%w, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %f = vm.call @hal.buffer_view.dim(%w, %one32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %r = vm.call @hal.buffer_view.rank(%w) : (!vm.ref<!hal.buffer_view>) -> i32
    %z = vm.call @hal.buffer_view.rank(%q) : (!vm.ref<!hal.buffer_view>) -> i32
    %s1 = vm.select.i64 %r, %e, %f : i64
    %s2 = vm.select.i64 %z, %e, %f : i64
    %s3 = vm.select.i64 %z, %e, %n : i64
    %s4 = vm.select.i64 %p, %e, %e : i64
    %s5 = vm.select.i64 %p, %e, %f : i64
    %s6 = vm.select.i64 %r, %n, %f : i64
    %a32 = vm.trunc.i64.i32 %e : i64 -> i32
    %b32 = vm.trunc.i64.i32 %f : i64 -> i32
    %t1 = vm.select.i32 %r, %a32, %b32 : i32
    %t2 = vm.select.i32 %z, %a32, %b32 : i32
    %u1 = vm.ext.i32.i64.u %t1 : i32 -> i64
    %u2 = vm.ext.i32.i64.u %t2 : i32 -> i64
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%s1, %s2, %s3, %s4, %s5, %s6, %u1, %u2]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %x : !vm.ref<!hal.buffer_view>
  }

  // Comparisons of what is known.
  vm.export @compared
  vm.func private @compared(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%eight, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %e = vm.call @hal.buffer_view.dim(%w, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %f = vm.call @hal.buffer_view.dim(%w, %one32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e2 = vm.add.i64 %f, %f : i64
    %c0 = vm.cmp.eq.i64 %e, %f : i64
    %x0 = vm.ext.i32.i64.u %c0 : i32 -> i64
    %c1 = vm.cmp.ne.i64 %e, %f : i64
    %x1 = vm.ext.i32.i64.u %c1 : i32 -> i64
    %c2 = vm.cmp.nz.i64 %e : i64
    %x2 = vm.ext.i32.i64.u %c2 : i32 -> i64
    %c3 = vm.cmp.eq.i64 %e, %e2 : i64
    %x3 = vm.ext.i32.i64.u %c3 : i32 -> i64
    %e32 = vm.trunc.i64.i32 %e : i64 -> i32
    %f32b = vm.trunc.i64.i32 %f : i64 -> i32
    %g0 = vm.cmp.eq.i32 %e32, %f32b : i32
    %y0 = vm.ext.i32.i64.u %g0 : i32 -> i64
    %g1 = vm.cmp.ne.i32 %e32, %f32b : i32
    %y1 = vm.ext.i32.i64.u %g1 : i32 -> i64
    %g2 = vm.cmp.nz.i32 %e32 : i32
    %y2 = vm.ext.i32.i64.u %g2 : i32 -> i64
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%x0, %x1, %x2, %x3, %y0, %y1, %y2]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %x : !vm.ref<!hal.buffer_view>
  }

  // A condition that is negated, and negated again.
  vm.export @negated
  vm.func private @negated(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %two32 : i32
    %x = vm.xor.i32 %c, %one32 : i32
    %y = vm.xor.i32 %x, %one32 : i32
    %k = vm.xor.i32 %y, %one32 : i32
    vm.cond_br %k, ^failed, ^good
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // The negation of another bit, by an argument, and of a number.
  vm.export @negated_other
  vm.func private @negated_other(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %two32 : i32
    %x = vm.xor.i32 %c, %two32 : i32
    vm.cond_br %x, ^next, ^failed
  ^next:
    %y = vm.xor.i32 %c, %p : i32
    vm.cond_br %y, ^last, ^failed
  ^last:
    %z = vm.xor.i32 %r, %one32 : i32
    vm.cond_br %z, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // The negation of other comparisons.
  vm.export @negated_ne
  vm.func private @negated_ne(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.ne.i32 %r, %two32 : i32
    %x = vm.xor.i32 %c, %one32 : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @negated_nz
  vm.func private @negated_nz(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.nz.i32 %r : i32
    %x = vm.xor.i32 %c, %one32 : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // The negation of comparisons of a dim.
  vm.export @dim_eq
  vm.func private @dim_eq(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %one32 : i32
    vm.cond_br %c, ^ranked, ^failed
  ^ranked:
    %d = vm.call @hal.buffer_view.dim(%v, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.cmp.eq.i64 %d, %four : i64
    %x = vm.xor.i32 %e, %one32 : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @dim_ne
  vm.func private @dim_ne(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %one32 : i32
    vm.cond_br %c, ^ranked, ^failed
  ^ranked:
    %d = vm.call @hal.buffer_view.dim(%v, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.cmp.ne.i64 %d, %four : i64
    %x = vm.xor.i32 %e, %one32 : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @dim_nz
  vm.func private @dim_nz(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %one32 : i32
    vm.cond_br %c, ^ranked, ^failed
  ^ranked:
    %d = vm.call @hal.buffer_view.dim(%v, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.cmp.nz.i64 %d : i64
    %x = vm.xor.i32 %e, %one32 : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // Another comparison proves nothing.
  vm.export @less
  vm.func private @less(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.lt.i32.s %r, %two32 : i32
    vm.cond_br %c, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // A path that is never taken.
  vm.export @known
  vm.func private @known(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %r = vm.call @hal.buffer_view.rank(%w) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %two32 : i32
    vm.cond_br %c, ^one, ^two
  ^one:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.br ^good
  ^two:
    %e0 = vm.call @custom.number() : () -> i64
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%eight]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.br ^good
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // A dim without a rank proves nothing.
  vm.export @dim_first
  vm.func private @dim_first(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %d = vm.call @hal.buffer_view.dim(%v, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %c = vm.cmp.eq.i64 %d, %four : i64
    vm.cond_br %c, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // Nor does one after the rank.
  vm.export @dim_outside
  vm.func private @dim_outside(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %one32 : i32
    vm.cond_br %c, ^ranked, ^failed
  ^ranked:
    %d = vm.call @hal.buffer_view.dim(%v, %five32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.cmp.eq.i64 %d, %four : i64
    vm.cond_br %e, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // Asserts that contradict each other, or say more.
  vm.export @two_dims
  vm.func private @two_dims(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%n, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.cond_br %p, ^a, ^b
  ^a:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four, %eight]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.br ^good
  ^b:
    %e0 = vm.call @custom.number() : () -> i64
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%eight, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.br ^good
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // The compiler does not know that this bit is 1.
  vm.export @bit_eq
  vm.func private @bit_eq(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %two32 : i32
    %x = vm.xor.i32 %c, %one : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @bit_ne
  vm.func private @bit_ne(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.ne.i32 %r, %two32 : i32
    %x = vm.xor.i32 %c, %one : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @bit_nz
  vm.func private @bit_nz(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.nz.i32 %r : i32
    %x = vm.xor.i32 %c, %one : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @bit_dim_eq
  vm.func private @bit_dim_eq(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %one32 : i32
    vm.cond_br %c, ^ranked, ^failed
  ^ranked:
    %d = vm.call @hal.buffer_view.dim(%v, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.cmp.eq.i64 %d, %four : i64
    %x = vm.xor.i32 %e, %one : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @bit_dim_ne
  vm.func private @bit_dim_ne(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %one32 : i32
    vm.cond_br %c, ^ranked, ^failed
  ^ranked:
    %d = vm.call @hal.buffer_view.dim(%v, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.cmp.ne.i64 %d, %four : i64
    %x = vm.xor.i32 %e, %one : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @bit_dim_nz
  vm.func private @bit_dim_nz(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %one32 : i32
    vm.cond_br %c, ^ranked, ^failed
  ^ranked:
    %d = vm.call @hal.buffer_view.dim(%v, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %e = vm.cmp.nz.i64 %d : i64
    %x = vm.xor.i32 %e, %one : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // A number is no bit.
  vm.export @bit_of_a_number
  vm.func private @bit_of_a_number(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %a = vm.add.i32 %r, %p : i32
    %x = vm.xor.i32 %a, %one : i32
    vm.cond_br %x, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // More negations than are followed.
  vm.export @many_negations
  vm.func private @many_negations(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c0 = vm.cmp.eq.i32 %r, %two32 : i32
    %c1 = vm.xor.i32 %c0, %one : i32
    %c2 = vm.xor.i32 %c1, %one : i32
    %c3 = vm.xor.i32 %c2, %one : i32
    %c4 = vm.xor.i32 %c3, %one : i32
    %c5 = vm.xor.i32 %c4, %one : i32
    %c6 = vm.xor.i32 %c5, %one : i32
    %c7 = vm.xor.i32 %c6, %one : i32
    %c8 = vm.xor.i32 %c7, %one : i32
    %c9 = vm.xor.i32 %c8, %one : i32
    %c10 = vm.xor.i32 %c9, %one : i32
    vm.cond_br %c10, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // The number may be the first one.
  vm.export @number_first
  vm.func private @number_first(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_type = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %is_type, ^typed, ^failed
  ^typed:
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %w1 = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %one = vm.call @hal.buffer_view.rank(%w1) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %one, %r : i32
    vm.cond_br %c, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // Asking for the encoding proves that it is a view.
  vm.export @encoding
  vm.func private @encoding(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (i32) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.encoding_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    vm.return %t : i32
  }

  // What a callee asks of a view is known to its caller.
  vm.func private @ask(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (i32, i32, i64, !vm.ref<!hal.buffer_view>) attributes {inlining_policy = #util.inline.never} {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.call @custom.number() : () -> i64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %z = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, []) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %t, %c, %w : i32, i32, i64, !vm.ref<!hal.buffer_view>
  }

  vm.export @asked
  vm.func private @asked(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %r, %t, %c, %u = vm.call @ask(%p, %n, %w, %b) : (i32, i64, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer>) -> (i32, i32, i64, !vm.ref<!hal.buffer_view>)
    %r64 = vm.ext.i32.i64.u %r : i32 -> i64
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %t, %one32, [%r64, %c]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %x, %u : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // In a loop, a number is another one in each iteration.
  vm.export @asked_in_a_loop
  vm.func private @asked_in_a_loop(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.br ^head(%zero, %n : i64, i64)
  ^head(%i : i64, %last : i64):
    %more = vm.cmp.lt.i64.s %i, %n : i64
    vm.cond_br %more, ^body, ^end
  ^body:
    %r, %t, %c, %u = vm.call @ask(%p, %n, %w, %b) : (i32, i64, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer>) -> (i32, i32, i64, !vm.ref<!hal.buffer_view>)
    %k = vm.add.i64 %i, %four : i64
    vm.br ^head(%k, %c : i64, i64)
  ^end:
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%last, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %x : !vm.ref<!hal.buffer_view>
  }

  // A callee that proves the type alone.
  vm.func private @only_type(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) attributes {inlining_policy = #util.inline.never} {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %t = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %t, %f32 : i32
    vm.cond_br %c, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  vm.export @type_of_callee
  vm.func private @type_of_callee(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call @only_type(%p, %n, %v, %b) : (i32, i64, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer>) -> ()
    %r = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %c = vm.cmp.eq.i32 %r, %two32 : i32
    vm.cond_br %c, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one32, "no"
  }

  // A branch by a table: what all cases prove.
  vm.export @table
  vm.func private @table(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.br_table %p {
      default: ^a,
      0: ^b,
      1: ^c
    }
  ^a:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^b:
    %e0 = vm.call @hal.buffer_view.encoding_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four, %eight]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^c:
    %r0 = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four, %n]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  }

  // The same, where a case proves nothing.
  vm.export @table_apart
  vm.func private @table_apart(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.br_table %p {
      default: ^a,
      0: ^b
    }
  ^a:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^b:
    vm.return
  }

  // Execution goes on after a pause.
  vm.export @yields
  vm.func private @yields(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.yield ^next
  ^next:
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %w : !vm.ref<!hal.buffer_view>
  }

  // And after a stop for a debugger.
  vm.export @breaks
  vm.func private @breaks(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.break ^next
  ^next:
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %w : !vm.ref<!hal.buffer_view>
  }

  // An item that is overwritten by a number is no view.
  vm.export @floats
  vm.func private @floats(%p : i32, %n : i64, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %l = vm.list.alloc %two32 : (i32) -> !vm.list<?>
    vm.list.resize %l, %five32 : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero32, %v : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %one32, %v : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %two32, %v : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %x32 = vm.const.f32 1.0
    %x64 = vm.const.f64 1.0
    vm.list.set.f32 %l, %zero32, %x32 : (!vm.list<?>, i32, f32)
    vm.list.set.f64 %l, %one32, %x64 : (!vm.list<?>, i32, f64)
    %i0 = vm.list.get.ref %l, %zero32 : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %i1 = vm.list.get.ref %l, %one32 : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %i2 = vm.list.get.ref %l, %two32 : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return %i0, %i1, %i2 : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // Asserts of the highest rank.
  vm.export @large
  vm.func private @large(%n : i64, %v : !vm.ref<!hal.buffer_view>, %w : !vm.ref<!hal.buffer_view>, %x : !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %zero32 = vm.const.i32 0
    %one32 = vm.const.i32 1
    %two32 = vm.const.i32 2
    %five32 = vm.const.i32 5
    %zero = vm.const.i64 0
    %four = vm.const.i64 4
    %five = vm.const.i64 5
    %eight = vm.const.i64 8
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.call.variadic @hal.buffer_view.assert(%w, %m, %f32, %one32, [%n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.call.variadic @hal.buffer_view.assert(%x, %m, %f32, %one32, [%four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  }

}
