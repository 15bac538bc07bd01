module @func_abi {
  func.func @output(%a: tensor<4xf32>, %out: tensor<4xf32> {iree.abi.output = 0 : index}) -> tensor<4xf32> {
    %s = arith.addf %a, %a : tensor<4xf32>
    return %s : tensor<4xf32>
  }
  util.func public @async(%a: tensor<?x2xf32>) -> tensor<?x2xf32> attributes {iree.abi.model = "coarse-fences"} {
    %s = arith.addf %a, %a : tensor<?x2xf32>
    util.return %s : tensor<?x2xf32>
  }
  func.func @scalars(%a: i1, %b: i8, %c: i16, %d: i32, %e: i64, %f: f16, %g: bf16, %h: f32, %i: f64, %j: index) -> (i1, i8, i16, i32, i64, f16, bf16, f32, f64, index) {
    return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j : i1, i8, i16, i32, i64, f16, bf16, f32, f64, index
  }
  func.func @narrow(%a: i8, %b: i8, %p: i1, %x: f32) -> (i8, i1, i32, f32) {
    %s = arith.addi %a, %b : i8
    %c = arith.cmpi slt, %a, %b : i8
    %d = arith.andi %c, %p : i1
    %e = arith.extsi %s : i8 to i32
    %y = arith.addf %x, %x : f32
    return %s, %d, %e, %y : i8, i1, i32, f32
  }
  func.func @mixed(%n: i32, %a: tensor<2x3x4xf64>, %x: i64) -> (tensor<2x3x4xf64>, i64, i32) {
    %s = arith.addf %a, %a : tensor<2x3x4xf64>
    return %s, %x, %n : tensor<2x3x4xf64>, i64, i32
  }
}
