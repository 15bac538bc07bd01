// A small classifier whose functions carry signature attributes.
// iree-compile --iree-hal-target-device=local --iree-hal-local-target-device-backends=vmvx \
//   --iree-vm-bytecode-module-strip-source-map=true classifier.mlir -o classifier.vmfb

module @classifier {
  func.func @normalize(%pixels: tensor<?x64xi8>, %scale: f32) -> tensor<?x64xf32> attributes {
    iree.reflection = {
      f = "I15!B9!t8d-1d64S1!R10!B7!d-1d64", fv = "1", fbr = "normalize$allocate",
      sip = "I12!S9!k0_0k1_1R3!_0", sipv = "1"
    }
  } {
    %c0 = arith.constant 0 : index
    %rows = tensor.dim %pixels, %c0 : tensor<?x64xi8>
    %init = tensor.empty(%rows) : tensor<?x64xf32>
    %result = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%pixels : tensor<?x64xi8>) outs(%init : tensor<?x64xf32>) {
    ^bb0(%pixel: i8, %out: f32):
      %value = arith.uitofp %pixel : i8 to f32
      %scaled = arith.mulf %value, %scale : f32
      linalg.yield %scaled : f32
    } -> tensor<?x64xf32>
    return %result : tensor<?x64xf32>
  }

  func.func @dense(%x: tensor<?x64xf32>, %kernel: tensor<64x10xf32>, %bias: tensor<10xf32>) -> tensor<?x10xf32> attributes {
    iree.reflection = {
      f = "I25!B7!d-1d64B7!d64d10B4!d10R10!B7!d-1d10", fv = "1",
      sip = "I44!D40!K7!paramsD21!K5!bias_2K7!kernel_1K2!x_0R16!D12!K7!logits_0", sipv = "1"
    }
  } {
    %c0 = arith.constant 0 : index
    %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
    %init = tensor.empty(%rows) : tensor<?x10xf32>
    %start = linalg.broadcast ins(%bias : tensor<10xf32>) outs(%init : tensor<?x10xf32>) dimensions = [0]
    %result = linalg.matmul ins(%x, %kernel : tensor<?x64xf32>, tensor<64x10xf32>) outs(%start : tensor<?x10xf32>) -> tensor<?x10xf32>
    return %result : tensor<?x10xf32>
  }

  func.func @version() -> i32 {
    %version = arith.constant 3 : i32
    return %version : i32
  }
}
