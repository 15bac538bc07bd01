// The result has its own memory; the second argument is only checked. See storage_written.mlir.
module @storage {
  util.func public @main(%a: !hal.buffer_view, %out: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub} {
    %x = hal.tensor.import %a "a" : !hal.buffer_view -> tensor<4xf32>
    %y = hal.tensor.import %out "out" : !hal.buffer_view -> tensor<4xf32>
    %s = arith.addf %x, %y : tensor<4xf32>
    %r = hal.tensor.export %s "r" : tensor<4xf32> -> !hal.buffer_view
    util.return %r : !hal.buffer_view
  }
}
