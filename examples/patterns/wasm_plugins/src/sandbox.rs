//! Runs a module: a new instance for each question, with limits on instructions, memory, time and output.
//!
//! The ABI is four exports: `memory`, `abi_version() -> i32` (1), `allocate(size: i32) -> i32`, and
//! `rank(at: i32, size: i32) -> i64`, whose result is `at << 32 | size` of the answer as JSON. Why not a component with WIT: Go's
//! compiler makes core modules, the component model triples the build time of wasmtime, and four exports are easy to write in any
//! language. What is lost is the type check at load time; the JSON is checked at each call instead.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use examples::ranking::{Answer, Question};
use wasmtime::{
    Config, Engine, Instance, Linker, Memory, Module, Store, StoreLimits, StoreLimitsBuilder, Strategy,
};

use crate::{PlugInError, wasi};

const ABI: i32 = 1;
/// For pointers to functions, of which Go's compiler makes some thousands.
const TABLE_ELEMENTS: usize = 100_000;
const TABLES: usize = 4;

/// The bounds of a call.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions, roughly; it makes an endless loop end at the same place each time.
    pub fuel: u64,
    /// Memory of the instance.
    pub bytes: usize,
    /// The length of the answer.
    pub answer_bytes: usize,
    /// Wall time, for what fuel does not count: a machine that is slow or stands still.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let patience = Duration::from_secs(10);
        Self { fuel: 500_000_000, bytes: 64 << 20, answer_bytes: 64 << 10, patience }
    }
}

/// Compiles modules and bounds their calls. Modules are compiled once and can be shared.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    limits: Limits,
    _clock: Arc<Clock>,
}

/// A module that has been compiled.
#[derive(Clone)]
pub struct PlugIn {
    sandbox: Sandbox,
    module: Module,
}

/// The state that the host keeps for an instance.
struct State {
    limits: StoreLimits,
}

/// Advances the epoch of the engine ten times a second, so that calls notice the time. Ends with the sandbox.
struct Clock {
    end: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

const TICK: Duration = Duration::from_millis(100);

// === impl Clock ===

impl Clock {
    fn start(engine: Engine) -> Self {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let tick = move || {
            while ended.recv_timeout(TICK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        };
        Self { end: Some(end), thread: Some(std::thread::spawn(tick)) }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.end.take();
        // It cannot panic.
        let _joined = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

// === impl Sandbox ===

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// A sandbox with these limits for each call.
    ///
    /// # Errors
    ///
    /// When wasmtime does not support this machine.
    pub fn new(limits: Limits) -> Result<Self, PlugInError> {
        let mut config = Config::new();
        config.consume_fuel(true).epoch_interruption(true);
        // Winch compiles in one pass: a module of Go has megabytes, and is asked briefly.
        config.strategy(Strategy::Winch);
        let engine = Engine::new(&config).map_err(PlugInError::Load)?;
        Ok(Self { limits, _clock: Arc::new(Clock::start(engine.clone())), engine })
    }

    /// Compiles a module, in binary or text form, and asks for its version.
    ///
    /// # Errors
    ///
    /// When it is not a module, imports anything but WASI, or has another ABI.
    pub fn load(&self, module: &[u8]) -> Result<PlugIn, PlugInError> {
        let module = Module::new(&self.engine, module).map_err(PlugInError::Load)?;
        let plug_in = PlugIn { sandbox: self.clone(), module };
        let (mut store, instance) = plug_in.instantiate()?;
        let version = instance.get_typed_func::<(), i32>(&mut store, "abi_version");
        let version = version.map_err(PlugInError::Load)?.call(&mut store, ()).map_err(stopped)?;
        if version == ABI { Ok(plug_in) } else { Err(PlugInError::Version(version, ABI)) }
    }
}

// === impl PlugIn ===

impl fmt::Debug for PlugIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlugIn").finish_non_exhaustive()
    }
}

impl PlugIn {
    fn instantiate(&self) -> Result<(Store<State>, Instance), PlugInError> {
        let limits = &self.sandbox.limits;
        let bounds = StoreLimitsBuilder::new().memory_size(limits.bytes).instances(1).memories(1);
        let memory = bounds.table_elements(TABLE_ELEMENTS).tables(TABLES).build();
        let mut store = Store::new(&self.sandbox.engine, State { limits: memory });
        store.limiter(|state| &mut state.limits);
        store.set_fuel(limits.fuel).map_err(PlugInError::Load)?;
        let ticks = limits.patience.as_millis().checked_div(TICK.as_millis()).unwrap_or(1);
        store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX).max(1));
        let mut linker = Linker::new(&self.sandbox.engine);
        // Go's compiler imports the same function once for each declaration of it.
        linker.allow_shadowing(true);
        wasi::link(&mut linker, &self.module)?;
        let instance = linker.instantiate(&mut store, &self.module).map_err(stopped)?;
        // Go's runtime starts here.
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut store, "_initialize") {
            initialize.call(&mut store, ()).map_err(stopped)?;
        }
        Ok((store, instance))
    }

    /// Asks the plug-in. Blocks for as long as the limits allow: call it on a blocking thread.
    ///
    /// # Errors
    ///
    /// When it traps, goes over a limit, or its answer cannot be read.
    pub fn rank(&self, question: &Question) -> Result<Answer, PlugInError> {
        let question =
            serde_json::to_vec(question).map_err(|error| PlugInError::Answer(error.to_string()))?;
        let size = i32::try_from(question.len()).map_err(|error| PlugInError::Answer(error.to_string()))?;
        let (mut store, instance) = self.instantiate()?;
        let missing = |name: &str| PlugInError::Load(wasmtime::Error::msg(format!("no export {name}")));
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(|| missing("memory"))?;
        let allocate =
            instance.get_typed_func::<i32, i32>(&mut store, "allocate").map_err(PlugInError::Load)?;
        let rank =
            instance.get_typed_func::<(i32, i32), i64>(&mut store, "rank").map_err(PlugInError::Load)?;
        let at = allocate.call(&mut store, size).map_err(stopped)?;
        let outside = |_| PlugInError::Answer("it points outside its memory".to_owned());
        let offset = usize::try_from(at)
            .map_err(|_| PlugInError::Answer("it points outside its memory".to_owned()))?;
        memory.write(&mut store, offset, &question).map_err(outside)?;
        let answer = rank.call(&mut store, (at, size)).map_err(stopped)?;
        let answer = self.read(&memory, &store, answer)?;
        serde_json::from_slice(&answer).map_err(|error| PlugInError::Answer(error.to_string()))
    }

    /// The bytes that `at << 32 | size` refers to.
    fn read(&self, memory: &Memory, store: &Store<State>, packed: i64) -> Result<Vec<u8>, PlugInError> {
        let [at, size] = [packed.cast_unsigned() >> 32, packed.cast_unsigned() & u64::from(u32::MAX)];
        let range = usize::try_from(at).ok().zip(usize::try_from(size).ok());
        let range = range.filter(|(_, size)| *size <= self.sandbox.limits.answer_bytes);
        let (at, size) = range.ok_or_else(|| PlugInError::Answer("it is too long".to_owned()))?;
        let bytes = at.checked_add(size).and_then(|end| memory.data(store).get(at..end));
        bytes
            .map(<[u8]>::to_vec)
            .ok_or_else(|| PlugInError::Answer("it points outside its memory".to_owned()))
    }
}

/// The first sentence of a trap: `all fuel consumed by WebAssembly`.
fn stopped(error: wasmtime::Error) -> PlugInError {
    PlugInError::Stopped(error.root_cause().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fuel never ends here, so only the clock does: how long that takes depends on the machine, that it happens does not.
    #[test]
    fn a_call_that_fuel_does_not_stop_is_stopped_by_the_clock() {
        let limits = Limits { fuel: u64::MAX, patience: Duration::from_millis(1), ..Limits::default() };
        let module = r#"(module (memory (export "memory") 1)
            (func (export "abi_version") (result i32) (loop (br 0)) (i32.const 1)))"#;
        let stopped = Sandbox::new(limits).unwrap().load(module.as_bytes()).unwrap_err().to_string();
        assert!(stopped.contains("interrupt"), "{stopped}");
    }
}
