//! Gradient clipping by the global norm of all gradients (Pascanu et al. 2013, "On the difficulty of
//! training recurrent neural networks").

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use crate::rollout::tensor_values;

/// The Euclidean norm of the gradients of all parameters of a module.
pub fn gradient_norm<M: Module>(module: &M, gradients: &GradientsParams) -> f64 {
    struct Sum<'a> {
        gradients: &'a GradientsParams,
        squares: f64,
    }
    impl ModuleVisitor for Sum<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.gradients.get::<D>(param.id) {
                self.squares += squares(&tensor_values(gradient));
            }
        }
    }
    let mut sum = Sum { gradients, squares: 0.0 };
    module.visit(&mut sum);
    sum.squares.sqrt()
}

/// Sum of squares in double precision, so that small tensors keep their share beside large ones.
/// Eight partial sums let the compiler vectorise the loop.
fn squares(values: &[f32]) -> f64 {
    let mut sums = [0f64; 8];
    let chunks = values.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|&value| f64::from(value).powi(2)).sum();
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(value) * f64::from(value);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Scales all gradients by `min(1, max_norm / (norm + 1e-6))`, so that their global norm is at most
/// `max_norm`. Returns the norm before the scaling.
///
/// Burn's own clipping works tensor by tensor. This function keeps the direction of the gradient; it
/// is equal to `torch.nn.utils.clip_grad_norm_`.
pub fn clip_gradient_norm<M: Module>(module: &M, gradients: &mut GradientsParams, max_norm: f64) -> f64 {
    struct Scale<'a> {
        gradients: &'a mut GradientsParams,
        factor: f64,
    }
    impl ModuleVisitor for Scale<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.gradients.remove::<D>(param.id) {
                self.gradients.register(param.id, gradient.mul_scalar(self.factor));
            }
        }
    }
    let norm = gradient_norm(module, gradients);
    let factor = max_norm / (norm + 1e-6);
    if factor < 1.0 {
        module.visit(&mut Scale { gradients, factor });
    }
    norm
}

#[cfg(test)]
mod tests {
    use burn::module::Initializer;
    use burn::nn::LinearConfig;
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn clipped_to_the_bound_and_left_alone_below_it() {
        let device = Device::flex().autodiff();
        let module = LinearConfig::new(2, 1).with_initializer(Initializer::Zeros).init(&device);
        let x = Tensor::<2>::from_floats([[3.0, 4.0]], &device);
        let gradients = module.forward(x).sum().backward();
        let mut gradients = GradientsParams::from_grads(gradients, &module);

        let norm = 26.0_f64.sqrt(); // weight (3, 4), bias 1
        assert!((clip_gradient_norm(&module, &mut gradients, 10.0) - norm).abs() < 1e-6);
        assert!((clip_gradient_norm(&module, &mut gradients, 2.0) - norm).abs() < 1e-6);
        assert!((gradient_norm(&module, &gradients) - 2.0).abs() < 1e-5);
    }
}
