module @torch_hand {
  func.func @main(%a: !torch.vtensor<[?,3],f32>, %b: !torch.vtensor<[?,3],f32>, %dst: !torch.tensor<[4],f32>, %src: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[?,3],f32>, !torch.vtensor<[?,3],f32>) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Tensor %a, %b, %int1 : !torch.vtensor<[?,3],f32>, !torch.vtensor<[?,3],f32>, !torch.int -> !torch.vtensor<[?,3],f32>
    %1 = torch.aten.mul.Tensor %src, %src : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.overwrite.tensor.contents %1 overwrites %dst : !torch.vtensor<[4],f32>, !torch.tensor<[4],f32>
    return %0, %b : !torch.vtensor<[?,3],f32>, !torch.vtensor<[?,3],f32>
  }
  func.func @scalars(%x: !torch.vtensor<[2],si64>, %n: !torch.int, %f: !torch.float, %p: !torch.bool) -> (!torch.vtensor<[2],si64>, !torch.int) {
    %int1 = torch.constant.int 1
    %0 = torch.aten.add.Scalar %x, %n, %int1 : !torch.vtensor<[2],si64>, !torch.int, !torch.int -> !torch.vtensor<[2],si64>
    return %0, %n : !torch.vtensor<[2],si64>, !torch.int
  }
  func.func @signs(%x: !torch.vtensor<[2],ui8>, %y: !torch.vtensor<[3],si8>, %z: !torch.vtensor<[2,?],i1>) -> (!torch.vtensor<[2],ui8>, !torch.vtensor<[3],si8>, !torch.vtensor<[2,?],i1>) {
    %0 = torch.aten.mul.Tensor %x, %x : !torch.vtensor<[2],ui8>, !torch.vtensor<[2],ui8> -> !torch.vtensor<[2],ui8>
    %1 = torch.aten.mul.Tensor %y, %y : !torch.vtensor<[3],si8>, !torch.vtensor<[3],si8> -> !torch.vtensor<[3],si8>
    %2 = torch.aten.logical_not %z : !torch.vtensor<[2,?],i1> -> !torch.vtensor<[2,?],i1>
    return %0, %1, %2 : !torch.vtensor<[2],ui8>, !torch.vtensor<[3],si8>, !torch.vtensor<[2,?],i1>
  }
}
