//! A kind that is followed at the preferred version, in every order of the events that announce a new one.

use super::*;

/// An event of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// The definition changes, which makes the manager discover the kind.
    Definition,
    /// Discovery prefers the new version from now on.
    Published,
    /// The server closes the watch, as it does when it replaces what serves the kind.
    Closed,
    /// The next answer to discovery does not know the kind, as that of a server that starts.
    Forgotten,
    /// The next request for discovery fails.
    Failed,
    /// The watch breaks, and the former version is listed and watched no more: what converts it is gone.
    Broken,
}

const EVENTS: [Event; 6] =
    [Event::Definition, Event::Published, Event::Closed, Event::Forgotten, Event::Failed, Event::Broken];
/// Times between two events, in milliseconds.
const GAPS: [u64; 3] = [0, 700, 40_000];

/// A machine and its server, which answers at once.
#[derive(Clone)]
struct World {
    machine: Machine,
    config: Config,
    now: Instant,
    opened: Instant,
    published: bool,
    broken: bool,
    /// The next answers to discovery.
    failures: Vec<Event>,
    /// The version that is listed or watched.
    version: String,
    steps: Vec<Step>,
}

impl World {
    fn new() -> Self {
        let (config, now) = (config(), Instant::now());
        let decoder = Decoder::new(Arc::new(GroupVersionKind::gvk("example.com", "", "A")), &config, None);
        let machine = Machine::new(Arc::new(config.clone()), decoder, None, Selection::default());
        let (failures, steps, version) = (Vec::new(), Vec::new(), String::new());
        let mut world = Self {
            machine,
            config,
            now,
            opened: now,
            published: false,
            broken: false,
            failures,
            version,
            steps,
        };
        // The looks after the start are over.
        world.pass(Duration::from_secs(3_000));
        world
    }

    fn discover(&mut self) -> Result<Served, SourceError> {
        match self.failures.pop() {
            Some(Event::Forgotten) => return Err(SourceError::NotServed),
            Some(_) => return Err(SourceError::Unavailable("cut".to_owned())),
            None => {}
        }
        let gvk = GroupVersionKind::gvk("example.com", if self.published { "v2" } else { "v1" }, "A");
        Ok(Served::new(ApiResource::from_gvk_with_plural(&gvk, "as"), true))
    }

    /// Checks that the version that is asked for can be listed and watched.
    fn serves(&self) -> Result<(), SourceError> {
        if self.broken && self.version == "v1" { Err(rejected()) } else { Ok(()) }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Definition => self.machine.on_hint(self.now),
            Event::Published => self.published = true,
            Event::Closed => self.machine.on_message(self.now, None),
            Event::Forgotten | Event::Failed => self.failures.push(event),
            Event::Broken => {
                self.broken = true;
                if self.version == "v1" {
                    self.machine.on_message(self.now, Some(Err(rejected())));
                }
            }
        }
    }

    /// Answers for this time.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let action = self.machine.next_action(self.now);
            self.steps.extend(std::iter::from_fn(|| self.machine.take_step()));
            let wait = match action {
                Action::Discover(_) => {
                    let answer = self.discover();
                    self.machine.on_discovered(self.now, answer);
                    continue;
                }
                Action::List(target, _) => {
                    self.version = target.resource.version;
                    let list = Listed::last(vec![raw("a", 1, 1)], "1");
                    self.machine.on_listed(self.now, self.serves().map(|()| list));
                    continue;
                }
                Action::Connect(target, _) => {
                    (self.version, self.opened) = (target.resource.version, self.now);
                    self.machine.on_connected(self.now, self.serves());
                    continue;
                }
                Action::Sleep(delay) => self.now + delay,
                Action::Read => {
                    if self.machine.begin_look(self.now).is_some() {
                        let answer = self.discover();
                        self.machine.on_looked(answer);
                        continue;
                    }
                    let renewed = self.opened + self.config.watch_timeout;
                    if renewed <= self.now {
                        self.machine.on_message(self.now, None);
                        continue;
                    }
                    self.machine.look_at(self.now).map_or(renewed, |look| look.min(renewed))
                }
            };
            if wait > end {
                self.now = end;
                return;
            }
            self.now = wait;
        }
    }
}

fn rejected() -> SourceError {
    SourceError::Rejected("conversion failed".to_owned())
}

/// Every sequence of at most four different events, each after each of the gaps.
fn sequences() -> Vec<Vec<(u64, Event)>> {
    let (mut all, mut edge) = (Vec::new(), vec![Vec::new()]);
    while let Some(sequence) = edge.pop() {
        for event in EVENTS {
            if sequence.iter().any(|(_, former)| *former == event) {
                continue;
            }
            for gap in GAPS {
                let mut longer: Vec<(u64, Event)> = sequence.clone();
                longer.push((gap, event));
                if longer.len() < 4 {
                    edge.push(longer.clone());
                }
                all.push(longer);
            }
        }
    }
    all
}

#[test]
fn in_every_order_of_event_discovery_and_watch_the_preferred_version_is_followed() {
    let sequences = sequences();
    assert!(sequences.len() > 10_000, "{}", sequences.len());
    let mut start = World::new();
    assert_eq!(start.version, "v1");
    start.steps.clear();
    for sequence in sequences {
        let mut world = start.clone();
        for (gap, event) in &sequence {
            world.pass(Duration::from_millis(*gap));
            world.happen(*event);
        }
        let failed = sequence.iter().filter(|(_, event)| matches!(event, Event::Forgotten | Event::Failed));
        // Each failed look costs another one.
        let looks = 1 + u32::try_from(failed.count()).unwrap();
        world.pass(world.config.watch_timeout * looks + Duration::from_secs(20));
        if world.published {
            assert_eq!(world.version, "v2", "{sequence:?}");
        }
        let is_lost = world.broken && !world.published;
        assert!(is_lost || world.machine.is_following(), "{sequence:?}");
        let gone = world.steps.iter().any(|step| matches!(step, Step::Gone));
        assert!(!gone, "objects were taken away: {sequence:?}");
    }
}

/// The event comes first, and discovery lags behind by this time: the new version is followed at most three times as long
/// after the event, and a few seconds.
#[test]
fn after_an_event_discovery_is_asked_again_after_growing_delays() {
    for lag in [0, 1, 2, 5, 10, 30] {
        let mut world = World::new();
        world.happen(Event::Definition);
        world.pass(Duration::from_secs(lag));
        world.happen(Event::Published);
        world.pass(Duration::from_secs(2 * lag + 4));
        assert_eq!(world.version, "v2", "{lag} s");
    }
}

#[test]
fn a_kind_of_a_certain_version_is_not_discovered_again() {
    let (mut machine, now) = (machine(config()), Instant::now());
    machine.on_discovered(now, Ok(served()));
    machine.on_hint(now);
    assert_eq!(machine.look_at(now), None);
}
