//! The WASI imports that a module of Go's `GOOS=wasip1` needs to start, without authority: no files, no clock, no randomness.
//! Output is taken and discarded: Go's runtime that cannot print why it ends would try for ever.
//!
//! Authority comes from imports alone. So a module that imports anything else is refused when it is loaded.

use wasmtime::{Caller, Extern, ExternType, Linker, Module, Val};

use crate::PlugInError;

const MODULE: &str = "wasi_snapshot_preview1";
const SUCCESS: i32 = 0;
const BAD_FILE: i32 = 8;
const BAD_ADDRESS: i32 = 21;
const NOT_SUPPORTED: i32 = 58;

/// Defines an answer for each import of the module.
pub(crate) fn link<T: 'static>(linker: &mut Linker<T>, module: &Module) -> Result<(), PlugInError> {
    for import in module.imports() {
        let (from, name) = (import.module().to_owned(), import.name().to_owned());
        let ExternType::Func(kind) = import.ty() else { return Err(PlugInError::Import(from, name)) };
        if from != MODULE {
            return Err(PlugInError::Import(from, name));
        }
        let answer = move |mut caller: Caller<'_, T>, arguments: &[Val], results: &mut [Val]| {
            if name == "proc_exit" {
                return Err(wasmtime::Error::msg("it has ended itself"));
            }
            let code = respond(&mut caller, &name, arguments);
            if let Some(result) = results.first_mut() {
                *result = Val::I32(code);
            }
            Ok(())
        };
        linker.func_new(MODULE, import.name(), kind, answer).map_err(PlugInError::Load)?;
    }
    Ok(())
}

/// The answer of an import. No arguments, no variables, one moment, and zeros for randomness; nothing can be opened.
fn respond<T>(caller: &mut Caller<'_, T>, name: &str, arguments: &[Val]) -> i32 {
    match (name, arguments) {
        ("args_sizes_get" | "environ_sizes_get", [Val::I32(count), Val::I32(size)]) => {
            let count = write(caller, *count, &0_u32.to_le_bytes());
            if count == SUCCESS { write(caller, *size, &0_u32.to_le_bytes()) } else { count }
        }
        // Go's runtime takes zero for a clock that is broken.
        ("clock_time_get", [_, _, Val::I32(time)]) => write(caller, *time, &1_u64.to_le_bytes()),
        ("random_get", [Val::I32(at), Val::I32(length)]) => fill(caller, *at, *length),
        ("args_get" | "environ_get" | "sched_yield", _) => SUCCESS,
        ("fd_write", [_, Val::I32(list), Val::I32(count), Val::I32(written)]) => {
            discard(caller, (*list, *count), *written)
        }
        (name, _) if name.starts_with("fd_") => BAD_FILE,
        _ => NOT_SUPPORTED,
    }
}

/// The bytes of the module's memory at an address, or `None` when it has none there.
fn memory<'a, T>(caller: &'a mut Caller<'_, T>, at: i32, length: usize) -> Option<&'a mut [u8]> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else { return None };
    let at = usize::try_from(at.cast_unsigned()).ok()?;
    memory.data_mut(caller).get_mut(at..at.checked_add(length)?)
}

fn write<T>(caller: &mut Caller<'_, T>, at: i32, bytes: &[u8]) -> i32 {
    match memory(caller, at, bytes.len()) {
        Some(place) => place.copy_from_slice(bytes),
        None => return BAD_ADDRESS,
    }
    SUCCESS
}

fn fill<T>(caller: &mut Caller<'_, T>, at: i32, length: i32) -> i32 {
    match usize::try_from(length).ok().and_then(|length| memory(caller, at, length)) {
        Some(place) => place.fill(0),
        None => return BAD_ADDRESS,
    }
    SUCCESS
}

/// Says that all buffers of the list were written. A list is pairs of an address and a length, of 4 bytes each.
fn discard<T>(caller: &mut Caller<'_, T>, (list, count): (i32, i32), written: i32) -> i32 {
    let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(8));
    let Some(buffers) = size.and_then(|size| memory(caller, list, size)) else { return BAD_ADDRESS };
    let length = |buffer: &[u8]| Some(u32::from_le_bytes(buffer.get(4..)?.try_into().ok()?));
    let total = buffers.chunks_exact(8).filter_map(length).fold(0, u32::saturating_add);
    write(caller, written, &total.to_le_bytes())
}
