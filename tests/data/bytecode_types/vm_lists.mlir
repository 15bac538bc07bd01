vm.module public @vm_lists {
  vm.import private @hal.buffer_view.assert(%view : !vm.ref<!hal.buffer_view>, %message : !vm.buffer, %element_type : i32, %encoding_type : i32, %shape : i64 ...)
  vm.import private @hal.buffer_view.create(%buffer : !vm.ref<!hal.buffer>, %offset : i64, %length : i64, %element_type : i32, %encoding_type : i32, %shape : i64 ...) -> !vm.ref<!hal.buffer_view>
  vm.import private @custom.change(%list : !vm.list<?>)
  vm.rodata private @message "input"
  vm.global.ref private mutable @kept : !vm.list<?>

  // Items are views: one is checked after it is read, one is made here.
  vm.export @items
  vm.func private @items(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %m = vm.const.ref.rodata @message : !vm.buffer
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.list.set.ref %l, %zero, %v : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %one, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %l, %one : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.call.variadic @hal.buffer_view.assert(%r, %m, %f32, %one, [%four]) : (!vm.ref<!hal.buffer_view>, !vm.buffer, i32, i32, i64 ...)
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // The last value counts, also through a copy of the reference.
  vm.export @overwritten
  vm.func private @overwritten(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.br ^next(%l : !vm.list<?>)
  ^next(%k : !vm.list<?>):
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %k, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r : !vm.ref<!hal.buffer_view>
  }

  // Any item may be the one that is set.
  vm.export @unknown_index
  vm.func private @unknown_index(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %n, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r : !vm.ref<!hal.buffer_view>
  }

  // Any item may be the one that is read.
  vm.export @unknown_item
  vm.func private @unknown_item(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %one, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %n : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r : !vm.ref<!hal.buffer_view>
  }

  // A callee may change the list, then and later.
  vm.export @escaped_to_call
  vm.func private @escaped_to_call(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.call @custom.change(%l) : (!vm.list<?>) -> ()
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %s = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // Whoever reads the global may change the list.
  vm.export @escaped_to_global
  vm.func private @escaped_to_global(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.global.store.ref %l, @kept : !vm.list<?>
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %k = vm.global.load.ref @kept : !vm.list<?>
    vm.list.set.ref %k, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r : !vm.ref<!hal.buffer_view>
  }

  // The list is an item of another one.
  vm.export @escaped_to_list
  vm.func private @escaped_to_list(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    %k = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %k, %two : (!vm.list<?>, i32)
    vm.list.set.ref %k, %zero, %l : (!vm.list<?>, i32, !vm.list<?>)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %o = vm.list.get.ref %k, %zero : (!vm.list<?>, i32) -> !vm.list<?>
    vm.list.set.ref %o, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r : !vm.ref<!hal.buffer_view>
  }

  // One of two lists is changed.
  vm.export @chosen
  vm.func private @chosen(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    %k = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %k, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %k, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %c = vm.select.ref %n, %l, %k : !vm.list<?>
    vm.list.set.ref %c, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %k, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // The same where paths meet.
  vm.export @met
  vm.func private @met(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    %k = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %k, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %k, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.cond_br %n, ^next(%l : !vm.list<?>), ^next(%k : !vm.list<?>)
  ^next(%c : !vm.list<?>):
    vm.list.set.ref %c, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %k, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // What both paths set, but for the dim in which they differ.
  vm.export @joined
  vm.func private @joined(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.cond_br %n, ^a, ^b
  ^a:
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %one, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.br ^next
  ^b:
    vm.list.set.ref %l, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.br ^next
  ^next:
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %l, %one : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // Items that a resize may remove.
  vm.export @resized
  vm.func private @resized(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.resize %l, %n : (!vm.list<?>, i32)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r : !vm.ref<!hal.buffer_view>
  }

  // A number in place of a view.
  vm.export @number
  vm.func private @number(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %one, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.i32 %l, %zero, %n : (!vm.list<?>, i32, i32)
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %l, %one : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // A reference of another type is read as null.
  vm.export @other_type
  vm.func private @other_type(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    vm.list.set.ref %l, %zero, %v : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %one, %b : (!vm.list<?>, i32, !vm.ref<!hal.buffer>)
    %o = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer>
    %r = vm.list.get.ref %l, %one : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %q = vm.call.variadic @hal.buffer_view.create(%o, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %q, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // A loop sets the first item to other views, and leaves the second one.
  vm.export @loop
  vm.func private @loop(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %l = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %l, %two : (!vm.list<?>, i32)
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.list.set.ref %l, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %one, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %step = vm.const.i64 1
    vm.br ^head(%zero64 : i64)
  ^head(%i : i64):
    %more = vm.cmp.lt.i64.s %i, %bytes : i64
    vm.cond_br %more, ^body, ^end
  ^body:
    %next = vm.add.i64 %i, %step : i64
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%next, %four]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    vm.list.set.ref %l, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.br ^head(%next : i64)
  ^end:
    %r = vm.list.get.ref %l, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %l, %one : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // The lists of a loop are many.
  vm.export @many_lists
  vm.func private @many_lists(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %step = vm.const.i64 1
    %first = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %first, %two : (!vm.list<?>, i32)
    vm.list.set.ref %first, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.br ^head(%zero64, %first : i64, !vm.list<?>)
  ^head(%i : i64, %last : !vm.list<?>):
    %new = vm.list.alloc %two : (i32) -> !vm.list<?>
    vm.list.resize %new, %two : (!vm.list<?>, i32)
    vm.list.set.ref %last, %zero, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %new, %zero, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %next = vm.add.i64 %i, %step : i64
    %more = vm.cmp.lt.i64.s %next, %bytes : i64
    vm.cond_br %more, ^head(%next, %new : i64, !vm.list<?>), ^end
  ^end:
    %r = vm.list.get.ref %new, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %first, %zero : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }

  // Items far from the first one.
  vm.export @far
  vm.func private @far(%n : i32, %v : !vm.ref<!hal.buffer_view>, %b : !vm.ref<!hal.buffer>) -> (!vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>) {
    %f32 = vm.const.i32 553648160
    %one = vm.const.i32 1
    %zero = vm.const.i32 0
    %two = vm.const.i32 2
    %far = vm.const.i32 63
    %farther = vm.const.i32 64
    %zero64 = vm.const.i64 0
    %three = vm.const.i64 3
    %four = vm.const.i64 4
    %bytes = vm.const.i64 64
    %w = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %x = vm.call.variadic @hal.buffer_view.create(%b, %zero64, %bytes, %f32, %one, [%four, %three]) : (!vm.ref<!hal.buffer>, i64, i64, i32, i32, i64 ...) -> !vm.ref<!hal.buffer_view>
    %hundred = vm.const.i32 100
    %l = vm.list.alloc %hundred : (i32) -> !vm.list<?>
    vm.list.resize %l, %hundred : (!vm.list<?>, i32)
    vm.list.set.ref %l, %far, %w : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    vm.list.set.ref %l, %farther, %x : (!vm.list<?>, i32, !vm.ref<!hal.buffer_view>)
    %r = vm.list.get.ref %l, %far : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    %s = vm.list.get.ref %l, %farther : (!vm.list<?>, i32) -> !vm.ref<!hal.buffer_view>
    vm.return %r, %s : !vm.ref<!hal.buffer_view>, !vm.ref<!hal.buffer_view>
  }
}
