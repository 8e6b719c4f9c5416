//! Each answer to the question of a switch, on a terminal.

use super::{Peer, World};
use crate::kctl::kctl;
use crate::terminal::Terminal;

#[test]
fn only_yes_switches() {
    let world = World::new();
    let admin = world.cluster.admin();
    let _old = Peer::start(&world, &world.old);
    for (keys, code, said) in [
        ("n\r", 3, "not confirmed; nothing was changed"),
        ("\r", 3, "not confirmed; nothing was changed"),
        ("\x04", 3, "not confirmed; nothing was changed"),
        ("\x03", 130, "interrupted; nothing was changed"),
        // Nobody takes over here: a yes is seen by the roll-back.
        ("y\r", 6, "active-operator"),
    ] {
        let line = format!("switch-active {} --timeout 2s", world.new);
        let kctl = kctl().kubeconfig(&admin.kubeconfig).env("TERM", "xterm").line(&line);
        let mut terminal = Terminal::new(kctl.command(), 100);
        terminal.wait_for("[y/N] ");
        terminal.send(keys);
        let (seen, ended) = terminal.end();
        assert_eq!(ended, code, "{keys:?}:\n{seen}");
        assert!(seen.contains(said), "{keys:?}:\n{seen}");
        assert!(seen.contains("in context admin (https://"), "where, before the question:\n{seen}");
        assert_eq!(world.says().0, world.old, "{keys:?}:\n{seen}");
    }
    let line = format!("switch-active {}", world.new);
    let refused = kctl().kubeconfig(&admin.kubeconfig).line(&line).run().exits(3);
    assert!(refused.stderr.contains("--yes") && refused.stdout.is_empty(), "{refused}");
    assert_eq!(world.says().0, world.old);
}
