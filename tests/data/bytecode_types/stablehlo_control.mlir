module @stablehlo_control {
  func.func @while(%n: tensor<i32>, %x: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
     cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.add %v, %v : tensor<4xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
    }
    return %r#0, %r#1 : tensor<i32>, tensor<4xf32>
  }
  func.func @case(%p: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
    %r = "stablehlo.if"(%p) ({
      %0 = stablehlo.negate %x : tensor<?xf32>
      stablehlo.return %0 : tensor<?xf32>
    }, {
      %0 = stablehlo.abs %x : tensor<?xf32>
      stablehlo.return %0 : tensor<?xf32>
    }) : (tensor<i1>) -> tensor<?xf32>
    return %r : tensor<?xf32>
  }
}
