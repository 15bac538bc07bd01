module @declared_views {
  util.func public @static(%v: !hal.buffer_view) -> tensor<4x3xf32> {
    %t = hal.tensor.import %v : !hal.buffer_view -> tensor<4x3xf32>
    %r = arith.addf %t, %t : tensor<4x3xf32>
    util.return %r : tensor<4x3xf32>
  }
  util.func public @dynamic(%v: !hal.buffer_view) -> !hal.buffer_view {
    %d = hal.buffer_view.dim<%v : !hal.buffer_view>[0] : index
    %t = hal.tensor.import %v : !hal.buffer_view -> tensor<?x3xi32>{%d}
    %r = arith.addi %t, %t : tensor<?x3xi32>
    %o = hal.tensor.export %r : tensor<?x3xi32>{%d} -> !hal.buffer_view
    util.return %o : !hal.buffer_view
  }
  util.func public @rank0(%v: !hal.buffer_view) -> tensor<i64> {
    %t = hal.tensor.import %v : !hal.buffer_view -> tensor<i64>
    %r = arith.addi %t, %t : tensor<i64>
    util.return %r : tensor<i64>
  }
  util.func public @unsigned(%v: !hal.buffer_view) -> tensor<4xui8> {
    %t = hal.tensor.import %v : !hal.buffer_view -> tensor<4xui8> as tensor<4xi8>
    %r = arith.addi %t, %t : tensor<4xi8>
    %o = flow.tensor.bitcast %r : tensor<4xi8> -> tensor<4xui8>
    util.return %o : tensor<4xui8>
  }
  util.func public @pass(%v: !hal.buffer_view) -> !hal.buffer_view {
    util.return %v : !hal.buffer_view
  }
  util.func public @buffer(%b: !hal.buffer) -> tensor<5x7xf32> {
    %t = hal.tensor.import %b : !hal.buffer -> tensor<5x7xf32>
    %r = arith.addf %t, %t : tensor<5x7xf32>
    util.return %r : tensor<5x7xf32>
  }
  util.func public @storage(%v: !hal.buffer_view, %b: !hal.buffer) -> !hal.buffer_view {
    %t = hal.tensor.import %v : !hal.buffer_view -> tensor<64x3xf32>
    %r = arith.addf %t, %t : tensor<64x3xf32>
    %a = hal.tensor.alias %r : tensor<64x3xf32> to %b : !hal.buffer
    %o = hal.tensor.export %a : tensor<64x3xf32> -> !hal.buffer_view
    util.return %o : !hal.buffer_view
  }
  func.func @fixed(%a: tensor<?x3xf32>) -> tensor<2x3xf32> {
    %t = tensor.cast %a : tensor<?x3xf32> to tensor<2x3xf32>
    %r = arith.addf %t, %t : tensor<2x3xf32>
    return %r : tensor<2x3xf32>
  }
}
