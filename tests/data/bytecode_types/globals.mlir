module @globals {
  util.global private mutable @state = dense<0.0> : tensor<2x3xf32>
  util.global private mutable @count = 0 : i32
  func.func @read() -> tensor<2x3xf32> {
    %s = util.global.load @state : tensor<2x3xf32>
    return %s : tensor<2x3xf32>
  }
  func.func @write(%x: tensor<2x3xf32>) {
    util.global.store %x, @state : tensor<2x3xf32>
    return
  }
  func.func @step(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, i32) {
    %s = util.global.load @state : tensor<2x3xf32>
    %c = util.global.load @count : i32
    %one = arith.constant 1 : i32
    %d = arith.addi %c, %one : i32
    %r = arith.addf %s, %x : tensor<2x3xf32>
    util.global.store %r, @state : tensor<2x3xf32>
    util.global.store %d, @count : i32
    return %r, %d : tensor<2x3xf32>, i32
  }
}
