//! callee.rs - write functions of TVM-FFI's stable C ABI in Rust 1.82 or newer.
//!
//! ```ignore
//! mod callee;
//!
//! callee::export! {
//!     fn add(a: i64, b: i64) -> callee::Result<i64> {
//!         Ok(a + b)
//!     }
//! }
//! ```
//!
//! Copy the file beside the source, or to `src` of a crate whose type is `cdylib`. It needs the
//! standard library and nothing to link. Both fnabi and tvm_ffi can load the library and call
//! `add`. It is the module for one library: it exports symbols, so only one copy may be linked.
//!
//! # Functions
//!
//! [`export!`] exports functions. The types of their parameters are those that implement
//! [`Argument`]: `i64`, `f64`, `bool`, `&str`, `&[u8]`, [`Tensor`], [`Function`], `Vec` and
//! `&[Value]` for an Array or List, `HashMap`, `BTreeMap` and [`Map`] for a Map or Dict, `&Value`
//! for anything, and `Option` of these for None. A call with another number of arguments or other
//! types raises a `TypeError` that names the function and the argument. Callers may give arguments by
//! their names; that of `r#type` is `type`. Doc comments are the documentation.
//!
//! The result is a [`Result`] of what converts to [`Value`]: `()`, integers, floats, `bool`, text,
//! [`NewTensor`], `Vec`, `HashMap`, `BTreeMap` and `Option` of these, and what [`Value::map`], [`Value::array`],
//! [`Value::bytes`] and [`Value::function`] make.
//!
//! The caller owns the arguments, which are borrowed for the call. [`Value::own`] makes a value
//! that can be kept or returned. Values that a function makes are dropped as usual.
//!
//! # Errors
//!
//! [`Error::new`] has a kind, which is the name of a Python exception such as `"ValueError"`, and a
//! message. With `?`, other errors become a `RuntimeError`, and so does a panic, with its message.
//! How the caller gets the error is described in `fnabi/callee.h`.
#![allow(dead_code)]

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Display;
use std::hash::Hash;
use std::marker::PhantomData;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

// ---------------------------------------------------------------------------------- values

/// A value of 16 bytes: an argument, a result or an element of a container.
///
/// If the tag is `OBJECT` or greater, the value owns one reference to an object.
#[repr(C)]
pub struct Value {
    tag: i32,
    size: u32,
    bits: u64,
}

const NONE: i32 = 0;
const INT: i32 = 1;
const BOOL: i32 = 2;
const FLOAT: i32 = 3;
const TENSOR_VIEW: i32 = 7;
const C_STRING: i32 = 8;
const BYTES_VIEW: i32 = 9;
const MOVED: i32 = 10;
const SMALL_TEXT: i32 = 11;
const SMALL_BYTES: i32 = 12;
const OBJECT: i32 = 64;
const TEXT: i32 = 65;
const BYTES: i32 = 66;
const FUNCTION: i32 = 68;
const TENSOR: i32 = 70;
const ARRAY: i32 = 71;
const MAP: i32 = 72;
const LIST: i32 = 75;
const DICT: i32 = 76;
const BIG_INT: i32 = 78;

fn type_name(tag: i32) -> &'static str {
    const PLAIN: [&str; 13] = [
        "None",
        "int",
        "bool",
        "float",
        "void*",
        "DataType",
        "Device",
        "DLTensor*",
        "const char*",
        "TVMFFIByteArray*",
        "ObjectRValueRef",
        "str",
        "bytes",
    ];
    const OBJECTS: [&str; 13] = [
        "ffi.Object",
        "str",
        "bytes",
        "ffi.Error",
        "ffi.Function",
        "ffi.Shape",
        "ffi.Tensor",
        "ffi.Array",
        "ffi.Map",
        "ffi.Module",
        "ffi.OpaquePyObject",
        "ffi.List",
        "ffi.Dict",
    ];
    match tag {
        0..=SMALL_BYTES => PLAIN[tag as usize],
        OBJECT..=DICT => OBJECTS[(tag - OBJECT) as usize],
        _ => "an object",
    }
}

/// What every object begins with: strong references in the lower half of `counts`, weak ones in
/// the upper half. All strong references together own one weak reference.
#[repr(C)]
struct Header {
    counts: AtomicU64,
    tag: i32,
    padding: u32,
    deleter: Option<Deleter>,
}

type Deleter = unsafe extern "C" fn(*mut c_void, c_int);
const CONTENTS: c_int = 1;
const MEMORY: c_int = 2;
const WEAK: u64 = 1 << 32;

#[repr(C)]
struct Span {
    data: *const u8,
    size: usize,
}

#[repr(C)]
struct TextObject {
    header: Header,
    span: Span,
}

#[repr(C)]
struct ArrayObject {
    header: Header,
    items: *mut Value,
    size: i64,
    capacity: i64,
    data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
struct FunctionObject {
    header: Header,
    run: Entry,
    reserved: *mut c_void,
}

type Entry = unsafe extern "C" fn(*mut c_void, *const Value, i32, *mut Value) -> c_int;

unsafe extern "C" {
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Some versions of the runtime read 16 bytes before each object: 8 zero bytes, then the pointer
/// to the function that frees the memory.
const SPARE: usize = 16;

unsafe extern "C" fn free_object(object: *mut c_void) {
    unsafe { free(object.cast::<u8>().sub(SPARE).cast()) }
}

unsafe extern "C" fn delete_plain(object: *mut c_void, flags: c_int) {
    if flags & MEMORY != 0 {
        unsafe { free_object(object) }
    }
}

/// Creates an object with one strong reference, whose other bytes are zero; null if there is no
/// memory.
fn try_object(tag: i32, size: usize, deleter: Deleter) -> *mut u8 {
    if size > isize::MAX as usize - SPARE {
        return ptr::null_mut();
    }
    unsafe {
        let memory = calloc(1, SPARE + size).cast::<u8>();
        if memory.is_null() {
            return memory;
        }
        let free_it: unsafe extern "C" fn(*mut c_void) = free_object;
        memory.add(8).cast::<usize>().write(free_it as usize);
        let object = memory.add(SPARE);
        object.cast::<Header>().write(Header {
            counts: AtomicU64::new(WEAK | 1),
            tag,
            padding: 0,
            deleter: Some(deleter),
        });
        object
    }
}

fn new_object(tag: i32, size: usize, deleter: Deleter) -> *mut u8 {
    let object = try_object(tag, size, deleter);
    if object.is_null() {
        panic::panic_any(Error::new("MemoryError", "out of memory"));
    }
    object
}

unsafe fn release(object: *mut Header) {
    unsafe {
        let before = (*object).counts.fetch_sub(1, Ordering::Release);
        if before & (WEAK - 1) != 1 {
            return;
        }
        fence(Ordering::Acquire);
        let Some(delete) = (*object).deleter else { return };
        if before == WEAK | 1 {
            return delete(object.cast(), CONTENTS | MEMORY);
        }
        delete(object.cast(), CONTENTS);
        if (*object).counts.fetch_sub(WEAK, Ordering::Release) == WEAK {
            fence(Ordering::Acquire);
            delete(object.cast(), MEMORY);
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if self.tag >= OBJECT {
            unsafe { release(self.bits as *mut Header) }
        }
    }
}

impl Value {
    const fn plain(tag: i32, bits: u64) -> Value {
        Value { tag, size: 0, bits }
    }

    /// Returns None of Python.
    pub const fn none() -> Value {
        Value::plain(NONE, 0)
    }

    fn of_object(object: *mut u8) -> Value {
        Value::plain(unsafe { (*object.cast::<Header>()).tag }, object as u64)
    }

    fn of_bytes(data: &[u8], small: i32, tag: i32) -> Value {
        let size = data.len();
        if size < 8 {
            let mut payload = [0; 8];
            payload[..size].copy_from_slice(data);
            return Value { tag: small, size: size as u32, bits: u64::from_ne_bytes(payload) };
        }
        let fixed = mem::size_of::<TextObject>();
        let object = new_object(tag, fixed + size + 1, delete_plain);
        unsafe {
            let text = object.add(fixed);
            ptr::copy_nonoverlapping(data.as_ptr(), text, size);
            (*object.cast::<TextObject>()).span = Span { data: text, size };
        }
        Value::of_object(object)
    }

    /// Creates bytes, a copy of `data`.
    pub fn bytes(data: &[u8]) -> Value {
        Value::of_bytes(data, SMALL_BYTES, BYTES)
    }

    /// Creates an Array of what an iterator gives.
    pub fn array<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Value {
        let items: Vec<Value> = items.into_iter().map(Into::into).collect();
        let fixed = mem::size_of::<ArrayObject>();
        let size = mem::size_of::<Value>() * items.len();
        let object = new_object(ARRAY, fixed + size, delete_array);
        unsafe {
            let array = &mut *object.cast::<ArrayObject>();
            array.items = object.add(fixed).cast();
            array.size = items.len() as i64;
            array.capacity = array.size;
            for (i, item) in items.into_iter().enumerate() {
                array.items.add(i).write(item);
            }
        }
        Value::of_object(object)
    }

    /// Creates a Map of the pairs that an iterator gives, in their order. If keys are equal, the
    /// last value and the first position count. Texts are equal to texts, bytes to bytes and
    /// numbers of one type to each other if they have the same content; other objects only to
    /// themselves.
    pub fn map<K: Into<Value>, V: Into<Value>>(pairs: impl IntoIterator<Item = (K, V)>) -> Value {
        new_map(pairs, MAP)
    }

    /// Creates a Dict, a map that others may change.
    pub fn dict<K: Into<Value>, V: Into<Value>>(pairs: impl IntoIterator<Item = (K, V)>) -> Value {
        new_map(pairs, DICT)
    }

    fn object(&self) -> *const Header {
        match self.tag {
            MOVED => unsafe { *(self.bits as *const *const Header) },
            OBJECT.. => self.bits as *const Header,
            _ => ptr::null(),
        }
    }

    fn object_of(&self, tag: i32, or_tag: i32) -> *const u8 {
        let object = self.object();
        let is_one = !object.is_null() && {
            let found = unsafe { (*object).tag };
            found == tag || found == or_tag
        };
        if is_one { object.cast() } else { ptr::null() }
    }

    /// Returns the name of the type, for messages.
    pub fn type_name(&self) -> &'static str {
        let object = self.object();
        type_name(if object.is_null() { self.tag } else { unsafe { (*object).tag } })
    }

    pub fn is_none(&self) -> bool {
        self.tag == NONE
    }

    /// Returns an int or bool.
    pub fn as_int(&self) -> Option<i64> {
        (self.tag == INT || self.tag == BOOL).then_some(self.bits as i64)
    }

    pub fn as_bool(&self) -> Option<bool> {
        self.as_int().map(|number| number != 0)
    }

    /// Returns a float, int or bool.
    pub fn as_float(&self) -> Option<f64> {
        match self.tag {
            FLOAT => Some(f64::from_bits(self.bits)),
            _ => self.as_int().map(|number| number as f64),
        }
    }

    fn span_of(&self, small: i32, tag: i32) -> Option<&[u8]> {
        let object = self.object_of(tag, tag).cast::<TextObject>();
        unsafe {
            if !object.is_null() {
                return Some(slice_of((*object).span.data, (*object).span.size));
            }
            if self.tag != small {
                return None;
            }
            Some(slice_of((&raw const self.bits).cast(), self.size.min(8) as usize))
        }
    }

    fn text_bytes(&self) -> Option<&[u8]> {
        match self.tag {
            C_STRING => Some(unsafe { CStr::from_ptr(self.bits as *const c_char) }.to_bytes()),
            _ => self.span_of(SMALL_TEXT, TEXT),
        }
    }

    /// Returns text; None also if it is not UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        self.text_bytes().and_then(|text| std::str::from_utf8(text).ok())
    }

    /// Returns bytes, or the bytes of text.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if self.tag == BYTES_VIEW {
            let span = self.bits as *const Span;
            return Some(unsafe { slice_of((*span).data, (*span).size) });
        }
        self.span_of(SMALL_BYTES, BYTES).or_else(|| self.text_bytes())
    }

    /// Returns the elements of an Array or List. Code that runs meanwhile may change a List.
    pub fn as_array(&self) -> Option<&[Value]> {
        let object = self.object_of(ARRAY, LIST).cast::<ArrayObject>();
        if object.is_null() {
            return None;
        }
        Some(unsafe { slice_of((*object).items, (*object).size.max(0) as usize) })
    }

    /// Returns the entries of a Map or Dict. Code that runs meanwhile may change a Dict.
    pub fn as_map(&self) -> Option<Map<'_>> {
        let object = self.object_of(MAP, DICT).cast::<MapObject>();
        unsafe { object.as_ref() }.map(Map::of)
    }

    pub fn as_function(&self) -> Option<Function<'_>> {
        let object = self.object_of(FUNCTION, FUNCTION).cast::<FunctionObject>();
        unsafe { object.as_ref() }.map(Function)
    }

    fn dl_tensor(&self) -> Option<&DlTensor> {
        let object = self.object_of(TENSOR, TENSOR).cast::<TensorObject>();
        unsafe {
            if !object.is_null() {
                return Some(&(*object).tensor);
            }
            (self.tag == TENSOR_VIEW).then(|| &*(self.bits as *const DlTensor))
        }
    }

    /// Makes an owned copy of a borrowed value, such as an argument or a part of one.
    ///
    /// Fails for a DLTensor*, which nothing keeps alive after the call, and for an object that was
    /// already moved.
    pub fn own(&self) -> Result<Value> {
        match self.tag {
            TENSOR_VIEW => Err(Error::new(
                "TypeError",
                "a DLTensor* cannot be kept after the call; expected ffi.Tensor",
            )),
            C_STRING | BYTES_VIEW => {
                let bytes = self.as_bytes().unwrap_or_default();
                Ok(match self.tag {
                    C_STRING => Value::of_bytes(bytes, SMALL_TEXT, TEXT),
                    _ => Value::bytes(bytes),
                })
            }
            MOVED if self.object().is_null() => {
                Err(Error::new("ValueError", "the object was already moved"))
            }
            MOVED | OBJECT.. => {
                let object = self.object();
                unsafe { (*object).counts.fetch_add(1, Ordering::Relaxed) };
                Ok(Value::of_object(object.cast_mut().cast()))
            }
            _ => Ok(Value { tag: self.tag, size: self.size, bits: self.bits }),
        }
    }
}

unsafe fn slice_of<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 || data.is_null() {
        return &[];
    }
    unsafe { slice::from_raw_parts(data, size) }
}

unsafe extern "C" fn delete_array(object: *mut c_void, flags: c_int) {
    unsafe {
        if flags & CONTENTS != 0 {
            let array = &*object.cast::<ArrayObject>();
            for i in 0..array.size as usize {
                array.items.add(i).drop_in_place();
            }
        }
        delete_plain(object, flags);
    }
}

impl From<()> for Value {
    fn from(_: ()) -> Value {
        Value::none()
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::plain(BOOL, value.into())
    }
}

macro_rules! from_number {
    ($tag:ident, $wide:ty, $bits:expr, $($type:ty),*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Value {
                Value::plain($tag, $bits(<$wide>::from(value)))
            }
        })*
    };
}
from_number!(INT, i64, |x| x as u64, i8, i16, i32, i64, u8, u16, u32);
from_number!(FLOAT, f64, f64::to_bits, f32, f64);

macro_rules! from_wide {
    ($($type:ty),*) => {
        /// Panics, which is an error of the function, if the number does not fit in int64.
        $(impl From<$type> for Value {
            fn from(value: $type) -> Value {
                i64::try_from(value).expect("a result does not fit in int64").into()
            }
        })*
    };
}
from_wide!(u64, usize, isize, u128, i128);

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::of_bytes(text.as_bytes(), SMALL_TEXT, TEXT)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        text.as_str().into()
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::array(items)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::none(), Into::into)
    }
}

// ---------------------------------------------------------------------------------- errors

pub type Result<T> = std::result::Result<T, Error>;

/// An error with a kind and a message, or one that a called function has raised.
#[derive(Debug)]
pub struct Error {
    kind: String,
    message: String,
    code: c_int,
}

impl Error {
    /// Makes an error. `kind` is the name of a Python exception.
    pub fn new(kind: &str, message: impl Display) -> Error {
        Error { kind: kind.into(), message: message.to_string(), code: 0 }
    }

    fn raised(code: c_int) -> Error {
        Error { kind: String::new(), message: String::new(), code }
    }

    fn raise(self) -> c_int {
        if self.code != 0 {
            return self.code;
        }
        let text = |text: String| CString::new(text.replace('\0', "\\0")).unwrap_or_default();
        let (kind, message) = (text(self.kind), text(self.message));
        let raiser = symbol(c"TVMFFIErrorSetRaisedFromCStr");
        if !raiser.is_null() {
            type Raiser = unsafe extern "C" fn(*const c_char, *const c_char);
            unsafe {
                mem::transmute::<*mut c_void, Raiser>(raiser)(kind.as_ptr(), message.as_ptr())
            }
        }
        let full = raiser.is_null();
        SLOT.with(|slot| *slot.borrow_mut() = Slot { full, kind, message });
        -1
    }
}

/// Any other error is a `RuntimeError` with its text.
impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Error {
        Error::new("RuntimeError", error)
    }
}

#[derive(Default)]
struct Slot {
    full: bool,
    kind: CString,
    message: CString,
}

thread_local! {
    static SLOT: RefCell<Slot> = RefCell::default();
}

#[repr(C)]
pub struct SlotError {
    kind: Span,
    message: Span,
}

/// Gives the error of this thread to the caller; see `fnabi/callee.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __fnabi_error_slot(error: *mut SlotError, size: usize) -> i32 {
    if size < mem::size_of::<SlotError>() {
        return -1;
    }
    SLOT.with(|slot| {
        let slot = &mut *slot.borrow_mut();
        if mem::replace(&mut slot.full, false) {
            let span =
                |text: &CString| Span { data: text.as_ptr().cast(), size: text.as_bytes().len() };
            let found = SlotError { kind: span(&slot.kind), message: span(&slot.message) };
            unsafe { error.write(found) };
            return 1;
        }
        0
    })
}

/// Returns the address of a symbol of the process, or null.
fn symbol(name: &CStr) -> *mut c_void {
    let everyone = if cfg!(target_os = "macos") { -2isize as usize } else { 0 };
    unsafe { dlsym(everyone as *mut c_void, name.as_ptr()) }
}

// ------------------------------------------------------------------------------- functions

/// A function that was passed as an argument.
pub struct Function<'a>(&'a FunctionObject);

impl Function<'_> {
    /// Calls the function. If it fails, return the error: the caller gets what was raised.
    pub fn call(&self, args: &[Value]) -> Result<Value> {
        let mut result = Value::none();
        let function = ptr::from_ref(self.0).cast_mut().cast();
        let code = unsafe { (self.0.run)(function, args.as_ptr(), args.len() as i32, &mut result) };
        match code {
            0 => Ok(result),
            _ => {
                mem::forget(result);
                Err(Error::raised(code))
            }
        }
    }
}

/// A closure: what `run` calls and `delete_closure` drops.
type Body = Box<dyn Fn(&[Value]) -> Result<Value> + Send + Sync>;

#[repr(C)]
struct Closure {
    function: FunctionObject,
    body: mem::ManuallyDrop<Body>,
}

unsafe extern "C" fn run_closure(
    closure: *mut c_void,
    args: *const Value,
    count: i32,
    result: *mut Value,
) -> c_int {
    unsafe {
        let body = &(*closure.cast::<Closure>()).body;
        run(args, count, result, |args| body(args))
    }
}

unsafe extern "C" fn delete_closure(closure: *mut c_void, flags: c_int) {
    unsafe {
        if flags & CONTENTS != 0 {
            mem::ManuallyDrop::drop(&mut (*closure.cast::<Closure>()).body);
        }
        delete_plain(closure, flags);
    }
}

impl Value {
    /// Creates a function, which may be called on any thread, such as this counter:
    ///
    /// ```ignore
    /// let count = std::sync::atomic::AtomicI64::new(0);
    /// Value::function(move |args| {
    ///     let step: i64 = callee::argument("counter", args, 0)?;
    ///     Ok((count.fetch_add(step, Ordering::Relaxed) + step).into())
    /// })
    /// ```
    pub fn function<F>(body: F) -> Value
    where
        F: Fn(&[Value]) -> Result<Value> + Send + Sync + 'static,
    {
        let object = new_object(FUNCTION, mem::size_of::<Closure>(), delete_closure);
        let body: Body = Box::new(body);
        unsafe {
            let closure = object.cast::<Closure>();
            (&raw mut (*closure).function.run).write(run_closure);
            (&raw mut (*closure).body).write(mem::ManuallyDrop::new(body));
        }
        Value::of_object(object)
    }
}

/// A type of parameters of exported functions.
#[diagnostic::on_unimplemented(
    message = "an exported function cannot have a parameter of the type `{Self}`",
    label = "the types of parameters are listed at the head of callee.rs",
    note = "use `&Value` and its methods `as_...` to read an argument of any type"
)]
pub trait Argument<'a>: Sized {
    /// Reads an argument. Fails with a phrase about what was expected.
    fn read(value: &'a Value) -> std::result::Result<Self, String>;
}

macro_rules! argument {
    ($type:ty, $read:ident, $expected:literal) => {
        impl<'a> Argument<'a> for $type {
            fn read(value: &'a Value) -> std::result::Result<Self, String> {
                value.$read().ok_or_else(|| format!("{}, not {}", $expected, value.type_name()))
            }
        }
    };
}
argument!(i64, as_int, "int");
argument!(f64, as_float, "float");
argument!(bool, as_bool, "bool");
argument!(&'a [u8], as_bytes, "bytes");
argument!(&'a [Value], as_array, "ffi.Array");
argument!(Map<'a>, as_map, "ffi.Map");
argument!(Function<'a>, as_function, "ffi.Function");

impl<'a> Argument<'a> for &'a str {
    fn read(value: &'a Value) -> std::result::Result<Self, String> {
        let other = if value.text_bytes().is_some() { " that is not UTF-8" } else { "" };
        value.as_text().ok_or_else(|| format!("str, not {}{other}", value.type_name()))
    }
}

impl<'a> Argument<'a> for String {
    fn read(value: &'a Value) -> std::result::Result<Self, String> {
        <&str>::read(value).map(Into::into)
    }
}

impl<'a, T: Argument<'a>> Argument<'a> for Vec<T> {
    fn read(value: &'a Value) -> std::result::Result<Self, String> {
        let item =
            |(i, item)| T::read(item).map_err(|told| format!("ffi.Array whose item {i} is {told}"));
        <&[Value]>::read(value)?.iter().enumerate().map(item).collect()
    }
}

macro_rules! maps {
    ($($map:ident: $($bound:ident)+),*) => {$(
        impl<'a, K: Argument<'a> $(+ $bound)+, V: Argument<'a>> Argument<'a> for $map<K, V> {
            fn read(value: &'a Value) -> std::result::Result<Self, String> {
                let told = |part, told| format!("ffi.Map whose {part} are {told}");
                let entry = |(key, value)| {
                    let key = K::read(key).map_err(|phrase| told("keys", phrase))?;
                    Ok((key, V::read(value).map_err(|phrase| told("values", phrase))?))
                };
                Map::read(value)?.map(entry).collect()
            }
        }

        impl<K: Into<Value>, V: Into<Value>> From<$map<K, V>> for Value {
            fn from(entries: $map<K, V>) -> Value {
                Value::map(entries)
            }
        }
    )*};
}
maps!(BTreeMap: Ord, HashMap: Eq Hash);

impl<'a> Argument<'a> for &'a Value {
    fn read(value: &'a Value) -> std::result::Result<Self, String> {
        Ok(value)
    }
}

impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    fn read(value: &'a Value) -> std::result::Result<Self, String> {
        if value.is_none() { Ok(None) } else { T::read(value).map(Some) }
    }
}

/// Reads argument `index` of a function of this name, for messages.
pub fn argument<'a, T: Argument<'a>>(name: &str, args: &'a [Value], index: usize) -> Result<T> {
    let Some(value) = args.get(index) else {
        return Err(Error::new("TypeError", format!("{name}() argument {index} is missing")));
    };
    T::read(value).map_err(|expected| {
        Error::new("TypeError", format!("{name}() argument {index} must be {expected}"))
    })
}

/// Runs the body of a function, for [`export!`].
///
/// # Safety
/// The arguments are those of the C ABI.
pub unsafe fn enter(
    name: &str,
    parameters: usize,
    args: *const Value,
    count: i32,
    result: *mut Value,
    body: impl FnOnce(&[Value]) -> Result<Value>,
) -> c_int {
    let checked = |args: &[Value]| {
        if args.len() == parameters {
            return body(args);
        }
        let s = if parameters == 1 { "" } else { "s" };
        let given = args.len();
        let told = format!("{name}() takes {parameters} argument{s}, not {given}");
        Err(Error::new("TypeError", told))
    };
    unsafe { run(args, count, result, checked) }
}

unsafe fn run(
    args: *const Value,
    count: i32,
    result: *mut Value,
    body: impl FnOnce(&[Value]) -> Result<Value>,
) -> c_int {
    let args = unsafe { slice_of(args, count.max(0) as usize) };
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| body(args)));
    match outcome.unwrap_or_else(|panic| Err(error_of(panic))) {
        Ok(value) => {
            unsafe { result.write(value) };
            0
        }
        Err(error) => error.raise(),
    }
}

fn error_of(panic: Box<dyn Any + Send>) -> Error {
    let panic = match panic.downcast::<Error>() {
        Ok(error) => return *error,
        Err(panic) => panic,
    };
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "a panic",
    };
    Error::new("RuntimeError", text)
}

/// Returns whether a name is a raw identifier, such as `r#type`.
pub const fn is_raw(name: &str) -> bool {
    let name = name.as_bytes();
    name.len() > 1 && name[1] == b'#'
}

/// Exports functions:
///
/// ```ignore
/// callee::export! {
///     /// Adds two integers.
///     fn add(a: i64, b: i64) -> callee::Result<i64> {
///         Ok(a + b)
///     }
/// }
/// ```
macro_rules! export {
    ($(
        $(#[doc = $doc:literal])*
        fn $name:ident($($parameter:ident: $type:ty),* $(,)?) -> $result:ty $body:block
    )*) => {$(
        $(#[doc = $doc])*
        pub fn $name($($parameter: $type),*) -> $result $body

        // A function may have any name but those of the items here.
        const _: () = {
            const _: () = assert!(
                !$crate::callee::is_raw(stringify!($name)),
                "a function of export! cannot have a name that begins with r#");

            #[unsafe(export_name = concat!("__tvm_ffi_", stringify!($name)))]
            unsafe extern "C" fn __entry(
                _self: *mut ::std::ffi::c_void,
                args: *const $crate::callee::Value,
                count: i32,
                result: *mut $crate::callee::Value,
            ) -> ::std::ffi::c_int {
                const PARAMETERS: &[&str] = &[$(stringify!($parameter)),*];
                let body = |args: &[$crate::callee::Value]| {
                    let mut _next = 0..args.len();
                    let result: $crate::callee::Result<_> = $name($({
                        let $parameter = $crate::callee::argument(
                            stringify!($name), args, _next.next().unwrap_or_default())?;
                        $parameter
                    }),*);
                    result.map(::std::convert::Into::into)
                };
                unsafe {
                    $crate::callee::enter(
                        stringify!($name), PARAMETERS.len(), args, count, result, body)
                }
            }

            #[unsafe(export_name = concat!("__fnabi_parameters_", stringify!($name)))]
            unsafe extern "C" fn __parameters(
                _self: *mut ::std::ffi::c_void,
                args: *const $crate::callee::Value,
                _count: i32,
                result: *mut $crate::callee::Value,
            ) -> ::std::ffi::c_int {
                let text = || Ok(stringify!($($parameter),*).replace("r#", "").into());
                unsafe { $crate::callee::enter("", 0, args, 0, result, |_| text()) }
            }

            $crate::callee::document!($name $($doc)*);
        };
    )*};
}
pub(crate) use export;

/// Exports the documentation of a function, if it has one, for [`export!`].
macro_rules! document {
    ($name:ident) => {};
    ($name:ident $($doc:literal)+) => {
        #[unsafe(export_name = concat!("__tvm_ffi__doc_", stringify!($name)))]
        unsafe extern "C" fn __documentation(
            _self: *mut ::std::ffi::c_void,
            args: *const $crate::callee::Value,
            _count: i32,
            result: *mut $crate::callee::Value,
        ) -> ::std::ffi::c_int {
            let lines: Vec<&str> = [$($doc),+].iter().map(|line| line.trim()).collect();
            let text = || Ok(lines.join("\n").into());
            unsafe { $crate::callee::enter("", 0, args, 0, result, |_| text()) }
        }
    };
}
pub(crate) use document;

// -------------------------------------------------------------------------------- tensors

/// DLPack's DLTensor.
#[repr(C)]
#[derive(Clone, Copy)]
struct DlTensor {
    data: *mut c_void,
    device: [i32; 2],
    rank: i32,
    dtype: Dtype,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// DLPack's DLDataType.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct Dtype {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct TensorObject {
    header: Header,
    tensor: DlTensor,
}

const CPU: [i32; 2] = [1, 0];

/// A type of elements of tensors, for which all bytes are valid.
///
/// # Safety
/// The size is that of the dtype, and zero is a valid value.
pub unsafe trait Element: Copy + 'static {
    const DTYPE: Dtype;
}

macro_rules! element {
    ($($type:ty: $code:literal),*) => {
        $(unsafe impl Element for $type {
            const DTYPE: Dtype =
                Dtype { code: $code, bits: 8 * mem::size_of::<$type>() as u8, lanes: 1 };
        })*
    };
}
element!(i8: 0, i16: 0, i32: 0, i64: 0, u8: 1, u16: 1, u32: 1, u64: 1, f32: 2, f64: 2);

fn dtype_text(dtype: Dtype) -> String {
    const NAMES: [&str; 7] = ["int", "uint", "float", "handle", "bfloat", "complex", "bool"];
    let name = NAMES.get(dtype.code as usize).unwrap_or(&"code?");
    let lanes = if dtype.lanes == 1 { String::new() } else { format!("x{}", dtype.lanes) };
    format!("{name}{}{lanes}", dtype.bits)
}

/// A tensor argument with elements of `T`, in memory of the CPU and contiguous in row-major order.
/// A `RANK` of -1 accepts any.
pub struct Tensor<'a, T: Element, const RANK: i32 = -1> {
    tensor: &'a DlTensor,
    elements: PhantomData<&'a [T]>,
}

impl<'a, T: Element, const RANK: i32> Tensor<'a, T, RANK> {
    pub fn shape(&self) -> &'a [i64] {
        unsafe { slice_of(self.tensor.shape, self.tensor.rank as usize) }
    }

    /// Returns the elements, in row-major order.
    pub fn data(&self) -> &'a [T] {
        unsafe { slice_of(self.pointer(), count_of(self.shape())) }
    }

    /// Returns a pointer to the elements, through which a function may change them, as long as it
    /// holds no slice of this argument or of another one with the same memory.
    pub fn pointer(&self) -> *mut T {
        let data = self.tensor.data.cast::<u8>();
        data.wrapping_add(self.tensor.byte_offset as usize).cast()
    }
}

fn count_of(shape: &[i64]) -> usize {
    shape.iter().product::<i64>() as usize
}

fn is_contiguous(tensor: &DlTensor) -> bool {
    let shape = unsafe { slice_of(tensor.shape, tensor.rank.max(0) as usize) };
    if tensor.strides.is_null() || shape.contains(&0) {
        return true;
    }
    let strides = unsafe { slice_of(tensor.strides, shape.len()) };
    let mut step = 1;
    for (dim, stride) in shape.iter().zip(strides).rev().filter(|(dim, _)| **dim != 1) {
        if *stride != step {
            return false;
        }
        step *= dim;
    }
    true
}

impl<'a, T: Element, const RANK: i32> Argument<'a> for Tensor<'a, T, RANK> {
    fn read(value: &'a Value) -> std::result::Result<Self, String> {
        let Some(tensor) = value.dl_tensor() else {
            return Err(format!("ffi.Tensor, not {}", value.type_name()));
        };
        let found = Tensor { tensor, elements: PhantomData };
        let contiguous = is_contiguous(tensor);
        let aligned = found.pointer() as usize % mem::align_of::<T>() == 0;
        let rank = RANK < 0 || tensor.rank == RANK;
        if tensor.dtype == T::DTYPE && rank && contiguous && aligned && tensor.device[0] == 1 {
            return Ok(found);
        }
        let rank = if RANK < 0 { String::new() } else { format!(" of rank {RANK}") };
        let layout = match (contiguous, aligned) {
            (false, _) => "non-contiguous ",
            (_, false) => "unaligned ",
            _ => "",
        };
        Err(format!(
            "a contiguous {} tensor{rank} in memory of the CPU, not {layout}{} of rank {} on device \
             {}:{}",
            dtype_text(T::DTYPE),
            dtype_text(tensor.dtype),
            tensor.rank,
            tensor.device[0],
            tensor.device[1],
        ))
    }
}

/// A tensor that a function makes, in memory of the CPU, contiguous in row-major order.
pub struct NewTensor<T: Element> {
    value: Value,
    elements: PhantomData<T>,
}

/// Who loads the library sets these: to functions of the runtime, or to those that replace it.
/// While they are null, they are looked up.
#[unsafe(no_mangle)]
pub static __TVMFFIEnvTensorAlloc: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
#[unsafe(no_mangle)]
pub static __TVMFFIEnvGetDLPackManagedTensorAllocator: AtomicPtr<c_void> =
    AtomicPtr::new(ptr::null_mut());

impl<T: Element> NewTensor<T> {
    /// Creates a tensor whose elements are zero. The caller's allocator makes it: in a call with a
    /// tensor of torch it is a tensor of torch. If the caller has none, as in a call with arrays of
    /// NumPy in tvm_ffi, the library allocates the memory itself.
    ///
    /// Fails if there are more than 64 dims, a dim is negative, or the tensor is larger than
    /// memory, and if the allocator fails.
    pub fn new(shape: &[i64]) -> Result<NewTensor<T>> {
        let mut size = Some(mem::size_of::<T>() as i64);
        if shape.len() > 64 {
            let told = format!("a tensor of rank {}; expected 0 to 64", shape.len());
            return Err(Error::new("ValueError", told));
        }
        for (i, dim) in shape.iter().enumerate() {
            if *dim < 0 {
                let told = format!("dim {i} of a tensor is negative: {dim}");
                return Err(Error::new("ValueError", told));
            }
            size = size.and_then(|size| size.checked_mul(*dim.max(&1)));
        }
        let Some(size) = size.filter(|size| *size <= isize::MAX as i64 / 16) else {
            return Err(Error::new("ValueError", "a tensor that is larger than memory"));
        };
        let like = DlTensor {
            data: ptr::null_mut(),
            device: CPU,
            rank: shape.len() as i32,
            dtype: T::DTYPE,
            shape: shape.as_ptr().cast_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let value = allocate(&like, size as usize)?;
        let mut made: NewTensor<T> = NewTensor { value, elements: PhantomData };
        unsafe { made.view().pointer().write_bytes(0, count_of(shape)) };
        Ok(made)
    }

    /// Creates a tensor with the shape of another one, whose elements are zero.
    pub fn like<U: Element, const RANK: i32>(other: &Tensor<U, RANK>) -> Result<NewTensor<T>> {
        NewTensor::new(other.shape())
    }

    fn view(&mut self) -> Tensor<'_, T> {
        let object = self.value.bits as *const TensorObject;
        Tensor { tensor: unsafe { &(*object).tensor }, elements: PhantomData }
    }

    /// Returns the elements, in row-major order.
    pub fn data(&mut self) -> &mut [T] {
        let view = self.view();
        match count_of(view.shape()) {
            0 => &mut [],
            count => unsafe { slice::from_raw_parts_mut(view.pointer(), count) },
        }
    }
}

impl<T: Element> From<NewTensor<T>> for Value {
    fn from(tensor: NewTensor<T>) -> Value {
        tensor.value
    }
}

fn allocate(like: &DlTensor, size: usize) -> Result<Value> {
    let found = |variable: &AtomicPtr<c_void>, name| match variable.load(Ordering::Acquire) {
        address if address.is_null() => symbol(name),
        address => address,
    };
    let make = found(&__TVMFFIEnvTensorAlloc, c"TVMFFIEnvTensorAlloc");
    let allocator = found(
        &__TVMFFIEnvGetDLPackManagedTensorAllocator,
        c"TVMFFIEnvGetDLPackManagedTensorAllocator",
    );
    type Make = unsafe extern "C" fn(*const DlTensor, *mut *mut u8) -> c_int;
    type Allocator = unsafe extern "C" fn() -> *mut c_void;
    unsafe {
        if make.is_null()
            || allocator.is_null()
            || mem::transmute::<*mut c_void, Allocator>(allocator)().is_null()
        {
            return allocate_own(like, size);
        }
        let mut made = ptr::null_mut();
        match mem::transmute::<*mut c_void, Make>(make)(like, &mut made) {
            0 => Ok(Value::of_object(made)),
            code => Err(Error::raised(code)),
        }
    }
}

fn allocate_own(like: &DlTensor, size: usize) -> Result<Value> {
    const ALIGNMENT: usize = 256;
    let rank = like.rank as usize;
    let fixed = mem::size_of::<TensorObject>();
    let dims = 2 * rank * mem::size_of::<i64>();
    let object = try_object(TENSOR, fixed + dims + ALIGNMENT + size, delete_plain);
    if object.is_null() {
        return Err(Error::new("MemoryError", "out of memory"));
    }
    unsafe {
        let tensor = &mut (*object.cast::<TensorObject>()).tensor;
        let data = object.add(fixed + dims);
        *tensor = *like;
        tensor.data = data.add((data as usize).wrapping_neg() % ALIGNMENT).cast();
        tensor.shape = object.add(fixed).cast();
        tensor.strides = tensor.shape.add(rank);
        let mut step = 1;
        for i in (0..rank).rev() {
            let dim = *like.shape.add(i);
            tensor.shape.add(i).write(dim);
            tensor.strides.add(i).write(step);
            step *= dim.max(1);
        }
    }
    Ok(Value::of_object(object))
}

// ----------------------------------------------------------------------------------- maps
//
// The runtime finds keys and adds entries in place, so a map has the layout that the runtime gives
// it; `fnabi/callee.h` describes it.

#[repr(C)]
struct MapObject {
    header: Header,
    data: *mut u8,
    size: usize,
    slots: u64,
    data_deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
struct TableObject {
    map: MapObject,
    shift: u32,
    padding: u32,
    head: u64,
    tail: u64,
}

#[repr(C)]
struct Pair {
    key: Value,
    value: Value,
}

#[repr(C)]
struct Slotted {
    pair: Pair,
    before: u64,
    after: u64,
}

const SMALL: u64 = 1 << 63;
const SMALL_MAP: usize = 4;
const NOWHERE: u64 = u64::MAX;
const BLOCK: u64 = 16;
const BLOCK_SIZE: u64 = BLOCK * (1 + mem::size_of::<Slotted>() as u64);
const EMPTY: u8 = 0xFF;

/// The entries of a Map or Dict: an iterator over keys and values in the order of insertion.
#[derive(Clone)]
pub struct Map<'a> {
    map: &'a MapObject,
    given: usize,
    next: u64,
}

impl<'a> Map<'a> {
    fn of(map: &'a MapObject) -> Map<'a> {
        let next = match map.slots & SMALL {
            0 => unsafe { (*ptr::from_ref(map).cast::<TableObject>()).head },
            _ => 0,
        };
        Map { map, given: 0, next }
    }

    /// Returns the value of a key that is text. Takes time in proportion to the number of entries.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        Map::of(self.map).find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }
}

impl<'a> Iterator for Map<'a> {
    type Item = (&'a Value, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        if self.given >= self.map.size || self.next == NOWHERE {
            return None;
        }
        let pair = unsafe {
            if self.map.slots & SMALL != 0 {
                &*self.map.data.cast::<Pair>().add(self.given)
            } else {
                let slotted = &*slotted_at(self.map.data, self.next);
                self.next = slotted.after;
                &slotted.pair
            }
        };
        self.given += 1;
        Some((&pair.key, &pair.value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.map.size.saturating_sub(self.given);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Map<'_> {}

unsafe fn slotted_at(data: *mut u8, slot: u64) -> *mut Slotted {
    unsafe {
        let block = data.add((slot / BLOCK * BLOCK_SIZE + BLOCK) as usize);
        block.cast::<Slotted>().add((slot % BLOCK) as usize)
    }
}

/// The byte about a slot: 0xFF if it is empty; otherwise bit 7 is clear if a chain begins there,
/// and the rest is the number of the distance to the next slot of the chain, or 0 at its end.
unsafe fn about(data: *mut u8, slot: u64) -> *mut u8 {
    unsafe { data.add((slot / BLOCK * BLOCK_SIZE + slot % BLOCK) as usize) }
}

fn distance(number: u8) -> u64 {
    let number = u64::from(number);
    if number < 16 { number } else { (number - 10) * (number - 9) / 2 }
}

/// The tag under which a key is hashed, and the bytes that are, if these are not the payload.
fn key_of(key: &Value) -> (i32, Option<&[u8]>) {
    if let Some(text) = key.text_bytes() {
        return (TEXT, Some(text));
    }
    if let Some(bytes) = key.as_bytes() {
        return (BYTES, Some(bytes));
    }
    if key.tag != BIG_INT {
        return (key.tag, None);
    }
    unsafe {
        let words = (key.bits as *const u8).add(mem::size_of::<Header>()).cast::<usize>();
        (BIG_INT, Some(slice_of(words.add(1).cast(), *words * 8)))
    }
}

fn same_key(a: &Value, b: &Value) -> bool {
    let (of_a, of_b) = (key_of(a), key_of(b));
    of_a == of_b && (of_a.1.is_some() || a.bits == b.bits)
}

fn hash(key: &Value) -> u64 {
    let (tag, bytes) = key_of(key);
    let tag = tag as u64;
    let hash = bytes.map_or(key.bits, |bytes| {
        bytes.chunks(8).fold(0u64, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash.wrapping_mul(1099511628211).wrapping_add(u64::from_le_bytes(word)) % 2147483647
        })
    });
    tag ^ hash.wrapping_add(0x9E3779B9).wrapping_add(tag << 6).wrapping_add(tag >> 2)
}

fn new_map<K: Into<Value>, V: Into<Value>>(
    pairs: impl IntoIterator<Item = (K, V)>,
    tag: i32,
) -> Value {
    let pairs: Vec<Pair> = pairs
        .into_iter()
        .map(|(key, value)| Pair { key: key.into(), value: value.into() })
        .collect();
    if pairs.len() <= SMALL_MAP { new_small(pairs, tag) } else { new_table(pairs, tag) }
}

fn new_small(pairs: Vec<Pair>, tag: i32) -> Value {
    let fixed = mem::size_of::<MapObject>();
    let object = new_object(tag, fixed + SMALL_MAP * mem::size_of::<Pair>(), delete_map);
    unsafe {
        let map = &mut *object.cast::<MapObject>();
        map.data = object.add(fixed);
        map.slots = SMALL | SMALL_MAP as u64;
        for pair in pairs {
            let first = map.data.cast::<Pair>();
            let known = slice::from_raw_parts_mut(first, map.size);
            match known.iter_mut().find(|known| same_key(&known.key, &pair.key)) {
                Some(known) => known.value = pair.value,
                None => {
                    first.add(map.size).write(pair);
                    map.size += 1;
                }
            }
        }
    }
    Value::of_object(object)
}

/// Finds a slot for each pair, and whether an equal key came before. First those at which chains
/// begin, so that nothing has to be moved later. None if a chain cannot grow.
unsafe fn place(data: *mut u8, slots: u64, pairs: &[Pair]) -> Option<Vec<(u64, bool)>> {
    let home = |key| hash(key).wrapping_mul(11400714819323198485) >> (64 - slots.trailing_zeros());
    let mut owners = vec![usize::MAX; slots as usize];
    let mut found: Vec<(u64, bool)> = Vec::with_capacity(pairs.len());
    unsafe {
        for (i, pair) in pairs.iter().enumerate() {
            let slot = home(&pair.key);
            let again = *about(data, slot) != EMPTY;
            if !again {
                *about(data, slot) = 0;
                owners[slot as usize] = i;
            }
            found.push((slot, again));
        }
        for (i, pair) in pairs.iter().enumerate().filter(|(i, _)| found[*i].1).collect::<Vec<_>>() {
            let mut slot = found[i].0;
            found[i] = loop {
                if same_key(&pairs[owners[slot as usize]].key, &pair.key) {
                    break (slot, true);
                }
                let meta = about(data, slot);
                if *meta & 0x7F != 0 {
                    slot = (slot + distance(*meta & 0x7F)) & (slots - 1);
                    continue;
                }
                let at = |number| (slot + distance(number)) & (slots - 1);
                let number = (1..83).find(|number| *about(data, at(*number)) == EMPTY)?;
                *meta |= number;
                *about(data, at(number)) = 0x80;
                owners[at(number) as usize] = i;
                break (at(number), false);
            };
        }
    }
    Some(found)
}

fn new_table(pairs: Vec<Pair>, tag: i32) -> Value {
    let mut slots = (2 * pairs.len() as u64).next_power_of_two().max(BLOCK);
    let (data, found) = loop {
        let data = unsafe { calloc((slots / BLOCK) as usize, BLOCK_SIZE as usize) }.cast::<u8>();
        if data.is_null() {
            panic::panic_any(Error::new("MemoryError", "out of memory"));
        }
        (0..slots).for_each(|slot| unsafe { *about(data, slot) = EMPTY });
        if let Some(found) = unsafe { place(data, slots, &pairs) } {
            break (data, found);
        }
        unsafe { free(data.cast()) };
        slots *= 2;
    };
    let object = new_object(tag, mem::size_of::<TableObject>(), delete_map);
    unsafe {
        let table = &mut *object.cast::<TableObject>();
        table.map.data = data;
        table.map.slots = slots;
        table.map.data_deleter = Some(free);
        table.shift = 64 - slots.trailing_zeros();
        table.head = NOWHERE;
        table.tail = NOWHERE;
        for (pair, (slot, again)) in pairs.into_iter().zip(found) {
            let slotted = slotted_at(data, slot);
            if again {
                (*slotted).pair.value = pair.value;
                continue;
            }
            slotted.write(Slotted { pair, before: table.tail, after: NOWHERE });
            match table.tail {
                NOWHERE => table.head = slot,
                tail => (*slotted_at(data, tail)).after = slot,
            }
            table.tail = slot;
            table.map.size += 1;
        }
    }
    Value::of_object(object)
}

unsafe extern "C" fn delete_map(object: *mut c_void, flags: c_int) {
    unsafe {
        if flags & CONTENTS != 0 {
            let map = &*object.cast::<MapObject>();
            for (key, value) in Map::of(map) {
                ptr::from_ref(key).cast_mut().drop_in_place();
                ptr::from_ref(value).cast_mut().drop_in_place();
            }
            if let Some(delete) = map.data_deleter {
                delete(map.data.cast());
            }
        }
        delete_plain(object, flags);
    }
}
