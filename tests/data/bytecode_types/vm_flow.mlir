vm.module public @vm_flow {
  vm.import private @hal.buffer_view.assert(%view : !vm.ref<!hal.buffer_view>, %message : !vm.buffer, %element_type : i32, %encoding_type : i32, %shape : i64 ...)
  vm.import private @hal.buffer_view.create(%buffer : !vm.ref<!hal.buffer>, %offset : i64, %length : i64, %element_type : i32, %encoding_type : i32, %shape : i64 ...) -> !vm.ref<!hal.buffer_view>
  vm.import private @hal.buffer_view.buffer(%view : !vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer>
  vm.import private @hal.buffer_view.dim(%view : !vm.ref<!hal.buffer_view>, %index : i32) -> i64
  vm.import private @hal.buffer_view.rank(%view : !vm.ref<!hal.buffer_view>) -> i32
  vm.import private @hal.buffer_view.element_type(%view : !vm.ref<!hal.buffer_view>) -> i32
  vm.import private @custom.view() -> !vm.ref<!hal.buffer_view>
  vm.rodata private @message "input"

  // An assert on one path only proves nothing.
  vm.export @one_path
  vm.func private @one_path(%p : i32, %v : !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.cond_br %p, ^checked, ^unchecked
  ^checked:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^unchecked:
    vm.return
  }

  // A path that fails does not count.
  vm.export @other_path_fails
  vm.func private @other_path_fails(%p : i32, %v : !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.cond_br %p, ^checked, ^failed
  ^checked:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^failed:
    vm.fail %one, "no"
  }

  // What both paths prove, but for the dim in which they differ.
  vm.export @two_shapes
  vm.func private @two_shapes(%p : i32, %v : !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %eight = vm.const.i64 8
    %six = vm.const.i64 6
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.cond_br %p, ^a, ^b
  ^a:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%four, %six]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^b:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%eight, %six]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  }

  vm.export @two_ranks
  vm.func private @two_ranks(%p : i32, %v : !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.cond_br %p, ^a, ^b
  ^a:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^b:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%four, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  }

  // A check by hand: the rank, the element type and a dim are compared.
  vm.export @compared
  vm.func private @compared(%v : !vm.ref<!hal.buffer_view>) {
    %zero = vm.const.i32 0
    %one = vm.const.i32 1
    %two = vm.const.i32 2
    %f16 = vm.const.i32 553648144
    %four = vm.const.i64 4
    %rank = vm.call @hal.buffer_view.rank(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %is_rank = vm.cmp.eq.i32 %rank, %two : i32
    vm.cond_br %is_rank, ^ranked, ^failed
  ^ranked:
    %type = vm.call @hal.buffer_view.element_type(%v) : (!vm.ref<!hal.buffer_view>) -> i32
    %differs = vm.cmp.ne.i32 %type, %f16 : i32
    vm.cond_br %differs, ^failed, ^typed
  ^typed:
    %dim = vm.call @hal.buffer_view.dim(%v, %one) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %is_dim = vm.cmp.eq.i64 %dim, %four : i64
    vm.cond_br %is_dim, ^good, ^failed
  ^good:
    vm.return
  ^failed:
    vm.fail %one, "no"
  }

  // The views that a loop makes are alike but for a dim.
  vm.export @loop
  vm.func private @loop(%n : i64, %v : !vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer_view> {
    %f32 = vm.const.i32 553648160
    %one32 = vm.const.i32 1
    %zero = vm.const.i64 0
    %one = vm.const.i64 1
    %three = vm.const.i64 3
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one32, [%three, %three]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.br ^head(%zero, %v : i64, !vm.ref<!hal.buffer_view>)
  ^head(%i : i64, %last : !vm.ref<!hal.buffer_view>):
    %more = vm.cmp.lt.i64.s %i, %n : i64
    vm.cond_br %more, ^body, ^end
  ^body:
    %next = vm.add.i64 %i, %one : i64
    %b = vm.call @hal.buffer_view.buffer(%last) : (!vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer>
    %view = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%next, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.br ^head(%next, %view : i64, !vm.ref<!hal.buffer_view>)
  ^end:
    vm.return %last : !vm.ref<!hal.buffer_view>
  }

  // The dim of the first iteration is not that of the last one.
  vm.export @loop_dims
  vm.func private @loop_dims(%n : i64, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one32 = vm.const.i32 1
    %zero = vm.const.i64 0
    %bytes = vm.const.i64 64
    vm.br ^head(%zero, %n, %n : i64, i64, i64)
  ^head(%i : i64, %x : i64, %y : i64):
    %made = vm.call @custom.view() : () -> !vm.ref<!hal.buffer_view>
    %d = vm.call @hal.buffer_view.dim(%made, %one32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    %next = vm.add.i64 %i, %x : i64
    %more = vm.cmp.lt.i64.s %next, %n : i64
    vm.cond_br %more, ^head(%next, %d, %x : i64, i64, i64), ^end
  ^end:
    %p = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%x]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %q = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %f32, %one32, [%y]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %p, %q : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // Functions that call each other.
  vm.export @even
  vm.func private @even(%n : i32, %v : !vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer_view> attributes {inlining_policy = #util.inline.never} {
    %one = vm.const.i32 1
    vm.cond_br %n, ^more, ^end
  ^more:
    %m = vm.sub.i32 %n, %one : i32
    %w = vm.call @odd(%m, %v) : (i32, !vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer_view>
    vm.return %w : !vm.ref<!hal.buffer_view>
  ^end:
    vm.return %v : !vm.ref<!hal.buffer_view>
  }
  vm.export @odd
  vm.func private @odd(%n : i32, %v : !vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer_view> attributes {inlining_policy = #util.inline.never} {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    %k = vm.sub.i32 %n, %one : i32
    %w = vm.call @even(%k, %v) : (i32, !vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer_view>
    vm.return %w : !vm.ref<!hal.buffer_view>
  }

  // The callee's proofs count for the caller, in its order of arguments.
  vm.func private @check(%a : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer_view>, %n : i64) -> (!vm.ref<!hal.buffer_view>, i64) attributes {inlining_policy = #util.inline.never} {
    %f32 = vm.const.i32 553648160
    %i32 = vm.const.i32 268435488
    %zero32 = vm.const.i32 0
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %two = vm.const.i64 2
    %m = vm.const.ref.rodata @message : !vm.buffer
    %d = vm.call @hal.buffer_view.dim(%a, %zero32) : (!vm.ref<!hal.buffer_view>, i32) -> i64
    vm.call.variadic @hal.buffer_view.assert(%a, %m, %f32, %one, [%d, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.call.variadic @hal.buffer_view.assert(%b, %m, %i32, %one, [%n, %d]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    %s = vm.call @hal.buffer_view.buffer(%b) : (!vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer>
    %bytes = vm.const.i64 64
    %zero = vm.const.i64 0
    %twice = vm.mul.i64 %d, %two : i64
    %v = vm.call.variadic @hal.buffer_view.create(%s, %zero, %bytes, %i32, %one, [%twice, %n]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %v, %twice : !vm.ref<!hal.buffer_view>, i64
  }
  vm.export @caller
  vm.func private @caller(%n : i64, %x : !vm.ref<!hal.buffer_view>, %y : !vm.ref<!hal.buffer_view>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %five = vm.const.i64 5
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %bytes = vm.const.i64 64
    %zero = vm.const.i64 0
    %v, %t = vm.call @check(%y, %x, %five) : (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, i64) -> (!vm.ref<!hal.buffer_view>, i64)
    %s = vm.call @hal.buffer_view.buffer(%v) : (!vm.ref<!hal.buffer_view>) -> !vm.ref<!hal.buffer>
    %w = vm.call.variadic @hal.buffer_view.create(%s, %zero, %bytes, %f32, %one, [%t, %n]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.return %v, %w : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // Two asserts that cannot both hold: that path does not return.
  vm.export @impossible
  vm.func private @impossible(%p : i32, %v : !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %f16 = vm.const.i32 553648144
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f32, %one, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.cond_br %p, ^a, ^b
  ^a:
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %f16, %one, [%four, %four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return
  ^b:
    vm.return
  }

  // One of two views, of which one is an argument.
  vm.export @chosen
  vm.func private @chosen(%p : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %bf16 = vm.const.i32 570425360
    %one = vm.const.i32 1
    %four = vm.const.i64 4
    %two = vm.const.i64 2
    %bytes = vm.const.i64 64
    %zero = vm.const.i64 0
    %null = vm.const.ref.zero : !vm.ref<!hal.buffer_view>
    %m = vm.const.ref.rodata @message : !vm.buffer
    vm.call.variadic @hal.buffer_view.assert(%v, %m, %bf16, %one, [%four, %two]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero, %bytes, %bf16, %one, [%four, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %s = vm.select.ref %p, %v, %w : !vm.ref<!hal.buffer_view>
    %t = vm.select.ref %p, %v, %null : !vm.ref<!hal.buffer_view>
    vm.return %s, %v, %t : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }
}
