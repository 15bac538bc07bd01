module @util_calls {
  util.func private @inner(%a: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {inlining_policy = #util.inline.never} {
    %s = arith.addf %a, %a : tensor<?x4xf32>
    util.return %s : tensor<?x4xf32>
  }
  util.func private @middle(%a: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {inlining_policy = #util.inline.never} {
    %0 = util.call @inner(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = util.call @inner(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    util.return %1 : tensor<?x4xf32>
  }
  util.func public @outer(%v: !hal.buffer_view) -> !hal.buffer_view {
    %c0 = arith.constant 0 : index
    %n = hal.buffer_view.dim<%v : !hal.buffer_view>[0] : index
    %a = hal.tensor.import %v "input0" : !hal.buffer_view -> tensor<?x4xf32>{%n}
    %0 = util.call @middle(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %d = tensor.dim %0, %c0 : tensor<?x4xf32>
    %r = hal.tensor.export %0 "output0" : tensor<?x4xf32>{%d} -> !hal.buffer_view
    util.return %r : !hal.buffer_view
  }
  util.func private @view_helper(%v: !hal.buffer_view) -> !hal.buffer_view attributes {inlining_policy = #util.inline.never} {
    %a = hal.tensor.import %v "helper" : !hal.buffer_view -> tensor<2x3xi32>
    %s = arith.addi %a, %a : tensor<2x3xi32>
    %r = hal.tensor.export %s "out" : tensor<2x3xi32> -> !hal.buffer_view
    util.return %r : !hal.buffer_view
  }
  util.func public @through_helper(%u: !hal.buffer_view, %v: !hal.buffer_view) -> (!hal.buffer_view, !hal.buffer_view) {
    %0 = util.call @view_helper(%v) : (!hal.buffer_view) -> !hal.buffer_view
    %1 = util.call @view_helper(%0) : (!hal.buffer_view) -> !hal.buffer_view
    util.return %1, %u : !hal.buffer_view, !hal.buffer_view
  }
}
