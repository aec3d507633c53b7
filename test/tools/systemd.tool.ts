// The script that `manifests --as systemd` prints, on a machine that has only Debian, with a real systemd.

import { describe, expect, test } from "bun:test";
import { openWorld } from "../executable/world.ts";
import { builtExecutable } from "./rig/executable.ts";
import { orSkipped } from "./rig/install.ts";
import { DebianMachine } from "./rig/machine.ts";

const program = "fake-cloud-controller-manager";

const system = orSkipped("a machine with systemd", () => DebianMachine.prepare());
describe.skipIf(system === undefined)("manifests --as systemd", () => {
  test("manifests --as systemd prints a script after which systemd starts the manager with its credentials [S7 F96]", async () => {
    await using world = await openWorld({ file: builtExecutable("fake") });
    await using machine = await DebianMachine.boot();
    machine.copyIn(builtExecutable("fake"), "/root/program");
    machine.must(`install -m 755 program /usr/local/bin/${program}`);
    const options = [
      ...["--as=systemd", "--cluster-name=prod", "--secure-port=0", "--leader-elect=false"],
      ...[`--set=endpoint=${world.endpoint}`, "--set=FAKE_TOKEN"],
    ];
    const installing = `FAKE_TOKEN=fake /usr/local/bin/${program} manifests ${options.join(" ")} | sh`;
    const output = machine.must(installing);
    expect(output).toContain("- the kubeconfig as /etc/fairlead/prod/kubeconfig");
    expect(output).not.toContain("- the executable");
    machine.copyIn(world.kubeconfig, "/etc/fairlead/prod/kubeconfig");
    expect(machine.must(installing)).not.toContain("- the kubeconfig");
    const [, start = ""] = /^- (systemctl .*)$/m.exec(output) ?? [];
    machine.must(start);
    await world.join(2);
    const explain = () =>
      machine.run("systemctl status fairlead@prod; journalctl --no-pager -u fairlead@prod").output;
    await world.areInitialized(2, explain);
    expect(machine.must("systemd-analyze verify fairlead@prod.service")).toBe("");
    // The token is a credential, and not a variable of the process.
    const pid = machine.must("systemctl show --property=MainPID --value fairlead@prod").trim();
    expect(machine.must(`tr '\\0' '\\n' < /proc/${pid}/environ`)).not.toContain("FAKE_TOKEN");
    expect(machine.must("stat -c %a /etc/fairlead/prod/FAKE_TOKEN").trim()).toBe("600");
  }, 180_000);
});
