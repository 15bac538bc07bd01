func.func @idx(%a: tensor<?x8xf32>, %n: index, %t: f32, %z: tensor<i32>, %b: tensor<2xi1>, %c: tensor<2xbf16>, %u: tensor<2xi8>, %x: tensor<2x2xcomplex<f32>>) -> (tensor<?x8xf32>, index, f32, tensor<i32>, tensor<2xi1>, tensor<2xbf16>, tensor<2xi8>, tensor<2x2xcomplex<f32>>) {
  return %a, %n, %t, %z, %b, %c, %u, %x : tensor<?x8xf32>, index, f32, tensor<i32>, tensor<2xi1>, tensor<2xbf16>, tensor<2xi8>, tensor<2x2xcomplex<f32>>
}
