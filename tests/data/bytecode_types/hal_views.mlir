module @hal_views {
  func.func private @custom.make(%v: !hal.buffer_view) -> !hal.buffer_view
  util.func public @custom_in(%u: !hal.buffer_view) -> !hal.buffer_view {
    %r = func.call @custom.make(%u) : (!hal.buffer_view) -> !hal.buffer_view
    util.return %r : !hal.buffer_view
  }
  util.func public @conditional(%p: i1, %v: !hal.buffer_view) -> !hal.buffer_view {
    %r = scf.if %p -> !hal.buffer_view {
      %a = hal.tensor.import %v "four" : !hal.buffer_view -> tensor<4xf32>
      %s = arith.addf %a, %a : tensor<4xf32>
      %x = hal.tensor.export %s "out" : tensor<4xf32> -> !hal.buffer_view
      scf.yield %x : !hal.buffer_view
    } else {
      scf.yield %v : !hal.buffer_view
    }
    util.return %r : !hal.buffer_view
  }
  util.func public @two_sizes(%p: i1, %v: !hal.buffer_view) -> !hal.buffer_view {
    %r = scf.if %p -> !hal.buffer_view {
      %a = hal.tensor.import %v "four" : !hal.buffer_view -> tensor<4xf32>
      %s = arith.addf %a, %a : tensor<4xf32>
      %x = hal.tensor.export %s "out" : tensor<4xf32> -> !hal.buffer_view
      scf.yield %x : !hal.buffer_view
    } else {
      %a = hal.tensor.import %v "eight" : !hal.buffer_view -> tensor<8xf32>
      %s = arith.mulf %a, %a : tensor<8xf32>
      %x = hal.tensor.export %s "out" : tensor<8xf32> -> !hal.buffer_view
      scf.yield %x : !hal.buffer_view
    }
    util.return %r : !hal.buffer_view
  }
  util.func public @two_types(%p: i1, %v: !hal.buffer_view) -> !hal.buffer_view {
    %r = scf.if %p -> !hal.buffer_view {
      %a = hal.tensor.import %v "four" : !hal.buffer_view -> tensor<4xf32>
      %s = arith.addf %a, %a : tensor<4xf32>
      %x = hal.tensor.export %s "out" : tensor<4xf32> -> !hal.buffer_view
      scf.yield %x : !hal.buffer_view
    } else {
      %a = hal.tensor.import %v "four" : !hal.buffer_view -> tensor<4xi32>
      %s = arith.muli %a, %a : tensor<4xi32>
      %x = hal.tensor.export %s "out" : tensor<4xi32> -> !hal.buffer_view
      scf.yield %x : !hal.buffer_view
    }
    util.return %r : !hal.buffer_view
  }
  util.func public @fenced(%v: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> !hal.buffer_view {
    %a = hal.tensor.import wait(%wait) => %v : !hal.buffer_view -> tensor<2x2xf32>
    %s = arith.addf %a, %a : tensor<2x2xf32>
    %b = hal.tensor.barrier join(%s : tensor<2x2xf32>) => %signal : !hal.fence
    %x = hal.tensor.export %b : tensor<2x2xf32> -> !hal.buffer_view
    util.return %x : !hal.buffer_view
  }
  util.func public @queries(%v: !hal.buffer_view) -> (i32, index, !hal.buffer_view) {
    %k = hal.buffer_view.rank<%v : !hal.buffer_view> : index
    %r = arith.index_cast %k : index to i32
    %n = hal.buffer_view.dim<%v : !hal.buffer_view>[1] : index
    util.return %r, %n, %v : i32, index, !hal.buffer_view
  }
}
