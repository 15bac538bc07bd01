//! Exports of each kind of argument and result, and those that fail.
mod callee;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use callee::{Error, Function, Map, NewTensor, Result, Tensor, Value};

static LIVE: AtomicI64 = AtomicI64::new(0);

struct Kept(AtomicI64);

impl Drop for Kept {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
    }
}

fn owned(values: &[Value]) -> Result<Vec<Value>> {
    values.iter().map(Value::own).collect()
}

callee::export! {
    fn nothing() -> Result<()> {
        Ok(())
    }

    fn same(value: &Value) -> Result<Value> {
        value.own()
    }

    fn negate(x: bool) -> Result<bool> {
        Ok(!x)
    }

    fn reverse(data: &[u8]) -> Result<Value> {
        Ok(Value::bytes(&data.iter().rev().copied().collect::<Vec<_>>()))
    }

    fn next_or_none(x: Option<i64>) -> Result<Option<i64>> {
        Ok(x.map(|x| x + 1))
    }

    fn nested(n: i64) -> Result<Vec<Vec<String>>> {
        Ok((0..n).map(|i| vec!["a text that is long".repeat(i as usize); 2]).collect())
    }

    fn lengths(words: Vec<String>) -> Result<Vec<usize>> {
        Ok(words.iter().map(String::len).collect())
    }

    fn inverted(entries: HashMap<String, i64>) -> Result<BTreeMap<i64, String>> {
        Ok(entries.into_iter().map(|(key, value)| (value, key)).collect())
    }

    fn entry(entry: i64, parameters: i64) -> Result<isize> {
        Ok((entry - parameters) as isize)
    }

    fn parameters(args: i64, body: i64) -> Result<i128> {
        Ok(i128::from(args) << body)
    }

    /// Has the name of what the macro makes.
    fn documentation() -> Result<u128> {
        Ok(u128::MAX)
    }

    fn size(n: i64) -> Result<usize> {
        Ok(n as usize)
    }

    fn zip(keys: &[Value], values: &[Value]) -> Result<Value> {
        Ok(Value::map(owned(keys)?.into_iter().zip(owned(values)?)))
    }

    fn dict(keys: &[Value], values: &[Value]) -> Result<Value> {
        Ok(Value::dict(owned(keys)?.into_iter().zip(owned(values)?)))
    }

    fn less(r#where: i64, r#type: i64) -> Result<i64> {
        Ok(r#where - r#type)
    }

    fn find(map: Map, name: &str) -> Result<Value> {
        match map.get(name) {
            Some(value) => value.own(),
            None => Err(Error::new("KeyError", name)),
        }
    }

    fn empty(shape: &[Value]) -> Result<NewTensor<f32>> {
        let shape: Vec<i64> = shape.iter().filter_map(Value::as_int).collect();
        NewTensor::new(&shape)
    }

    fn doubled(x: Tensor<f32>) -> Result<()> {
        for i in 0..x.data().len() {
            unsafe { *x.pointer().add(i) *= 2.0 }
        }
        Ok(())
    }

    fn matrix(x: Tensor<i64, 2>) -> Result<Vec<i64>> {
        Ok(x.shape().to_vec())
    }

    fn counter(start: i64) -> Result<Value> {
        let kept = Kept(AtomicI64::new(start));
        LIVE.fetch_add(1, Relaxed);
        Ok(Value::function(move |args| {
            let step: i64 = callee::argument("counter", args, 0)?;
            Ok((kept.0.fetch_add(step, Relaxed) + step).into())
        }))
    }

    fn live() -> Result<i64> {
        Ok(LIVE.load(Relaxed))
    }

    fn apply(f: Function, args: &[Value]) -> Result<Value> {
        f.call(&owned(args)?)
    }

    /// Parses a number.
    ///
    /// It may be negative.
    fn parse(text: &str) -> Result<i64> {
        Ok(text.parse()?)
    }

    fn fail(kind: &str, message: &str) -> Result<()> {
        Err(Error::new(kind, message))
    }

    fn panics(which: i64) -> Result<i64> {
        Ok([1, 2, 3][usize::try_from(which).expect("which is negative")])
    }
}
