// Functions whose arguments releases of the runtime pass in different ways, and functions that the
// module calls itself. Each export returns what shows it.
vm.module @calls {
  vm.export @wide
  vm.export @mixed
  vm.export @floats
  vm.export @chosen
  vm.export @aligned
  vm.export @unread
  vm.export @calls_second
  vm.export @calls_negative
  vm.export @calls_big
  vm.export @calls_narrow

  vm.func @wide(%a: i32, %b: i64) -> i64 {
    vm.return %b : i64
  }
  vm.func @mixed(%a: i32, %b: i64, %c: i32, %d: i64) -> (i32, i64, i32, i64) {
    vm.return %a, %b, %c, %d : i32, i64, i32, i64
  }
  vm.func @floats(%a: f32, %b: i64) -> i64 {
    vm.return %b : i64
  }
  vm.func @chosen(%a: i32, %b: i64, %c: i32) -> i64 {
    vm.cond_br %a, ^bb1, ^bb2
  ^bb1:
    %c7 = vm.const.i32 7
    %e = vm.mul.i32 %c7, %c : i32
    %f = vm.ext.i32.i64.s %e : i32 -> i64
    vm.return %f : i64
  ^bb2:
    vm.return %b : i64
  }
  vm.func @aligned(%a: i32, %b: i32, %c: i64, %d: i32) -> (i64, i32) {
    vm.return %c, %d : i64, i32
  }
  vm.func @unread(%a: i32, %b: i64) -> i32 {
    vm.return %a : i32
  }

  vm.func private @second(%a: i64, %b: i64) -> i64 attributes {inlining_policy = #util.inline.never} {
    vm.return %b : i64
  }
  vm.func @calls_second(%a: i64, %b: i64) -> i64 {
    %e = vm.call @second(%a, %b) : (i64, i64) -> i64
    vm.return %e : i64
  }
  vm.func private @negative(%a: i64) -> i32 attributes {inlining_policy = #util.inline.never} {
    %zero = vm.const.i64.zero
    %e = vm.cmp.lt.i64.s %a, %zero : i64
    vm.return %e : i32
  }
  vm.func @calls_negative(%a: i64) -> i32 {
    %e = vm.call @negative(%a) : (i64) -> i32
    vm.return %e : i32
  }
  vm.func private @big(%a: i32) -> i64 attributes {inlining_policy = #util.inline.never} {
    %one = vm.const.i64 8589934592
    %b = vm.ext.i32.i64.s %a : i32 -> i64
    %e = vm.add.i64 %one, %b : i64
    vm.return %e : i64
  }
  vm.func @calls_big(%a: i32) -> i64 {
    %e = vm.call @big(%a) : (i32) -> i64
    vm.return %e : i64
  }
  vm.func private @narrow(%a: i32, %b: i32) -> i32 attributes {inlining_policy = #util.inline.never} {
    %e = vm.sub.i32 %a, %b : i32
    vm.return %e : i32
  }
  vm.func @calls_narrow(%a: i32, %b: i32) -> i32 {
    %e = vm.call @narrow(%a, %b) : (i32, i32) -> i32
    vm.return %e : i32
  }
}
