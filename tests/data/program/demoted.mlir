func.func @main(%x: !torch.vtensor<[4],f64>) -> !torch.vtensor<[4],f64> {
  %one = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %x, %one : !torch.vtensor<[4],f64>, !torch.vtensor<[4],f64>, !torch.int -> !torch.vtensor<[4],f64>
  return %0 : !torch.vtensor<[4],f64>
}

func.func @rows(%x: !torch.vtensor<[?,2],f64>) -> !torch.vtensor<[?,2],f64> {
  %one = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %x, %one : !torch.vtensor<[?,2],f64>, !torch.vtensor<[?,2],f64>, !torch.int -> !torch.vtensor<[?,2],f64>
  return %0 : !torch.vtensor<[?,2],f64>
}
