// The alert rules, by the tools that use them: promtool evaluates each rule on series, and a real Prometheus scrapes the executable
// while the conditions of the main alerts come and go.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Alert, alertsIn } from "../../scripts/docs/runbook-pages.ts";
import { freePort } from "../cluster/rig/free-port.ts";
import { keepFolder, startProcess } from "../cluster/rig/kept-process.ts";
import { until } from "../cluster/rig/until.ts";
import { uninitialized } from "../support/node-controllers.ts";
import { flagsFile } from "../support/reloading-process.ts";
import { type AlertCase, alertCases, type Series } from "./monitoring/alert-cases.ts";
import { debianTool, orSkipped } from "./rig/install.ts";
import { LocalWorld } from "./rig/local-world.ts";

const promtool = orSkipped("the alert rules", () => debianTool("promtool", ["prometheus"]));
const prometheus = orSkipped("the alerts of a real Prometheus", () =>
  debianTool("prometheus", ["prometheus"]),
);

const rulesText = readFileSync(join(import.meta.dir, "../../deploy/monitoring/alerts.yaml"), "utf8");
const alerts = alertsIn(rulesText);
const folder = mkdtempSync(join(tmpdir(), "fairlead-monitoring-"));
keepFolder(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** JSON is YAML. */
const write = (name: string, content: object): string => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
};
const groupOf = (rules: readonly Alert[]) => ({ groups: [{ name: "fairlead", rules }] });

const tool = (...args: readonly string[]): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? "", ...args], { cwd: folder });
  expect(`${stdout}${stderr}${exitCode === 0 ? "" : `exit code ${exitCode}`}`).not.toMatch(
    /exit code|FAILED/,
  );
  return String(stdout);
};

describe.if(promtool !== undefined)("promtool", () => {
  test("promtool accepts the alert rules", () => {
    const path = join(folder, "alerts.yaml");
    writeFileSync(path, rulesText);
    expect(tool("check", "rules", path)).toContain(`SUCCESS: ${alerts.length} rules found`);
  });

  test("promtool parses every expression of the dashboard", () => {
    const all = [...queries.map(({ expr }) => expr), ...annotations.list.map(({ expr }) => filledIn(expr))];
    expect(all.length).toBeGreaterThan(30);
    const rules = all.map((expr, index) => ({ record: `dashboard:expression_${index}`, expr }));
    const path = write("dashboard-rules.json", { groups: [{ name: "dashboard", rules }] });
    expect(tool("check", "rules", path)).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  test("promtool records the Go manager's metrics with the rules on the Hetzner Cloud page", () => {
    writeFileSync(join(folder, "recording.yaml"), documentedRules());
    const target = `job="ccm",instance="a",account="hcloud"`;
    const addTarget = `${target},operation="POST /load_balancers/{id}/actions/add_target"`;
    const listing = `${target},operation="GET /servers"`;
    const requests = "hcloud_api_requests_total";
    const durations = "hcloud_api_request_duration_seconds";
    const recorded = (name: string, labels: string, value: number) => ({
      labels: `${name}{${labels}}`,
      value,
    });
    const at = (expr: string, ...samples: readonly object[]) => ({
      expr,
      eval_time: "10m",
      exp_samples: samples,
    });
    const path = write("recording-tests.json", {
      rule_files: ["recording.yaml"],
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: Object.entries({
            [`fairlead_cloud_requests_total{${addTarget},result="201"}`]: "0+5x10",
            [`fairlead_cloud_requests_total{${listing},result="unauthorized"}`]: "0+1x10",
            'fairlead_cloud_requests_total{account="robot",operation="GET /server",result="200"}': "0+1x10",
            [`fairlead_cloud_request_duration_seconds_bucket{${addTarget},le="0.1"}`]: "0+3x10",
            [`fairlead_cloud_request_duration_seconds_bucket{${listing},le="0.1"}`]: "0+4x10",
            [`fairlead_cloud_request_duration_seconds_sum{${listing}}`]: "0+2x10",
            [`fairlead_cloud_request_duration_seconds_count{${listing}}`]: "0+6x10",
          }).map(([series, values]) => ({ series, values })),
          promql_expr_test: [
            at(
              requests,
              recorded(
                requests,
                'job="ccm",instance="a",code="201",method="post",api_endpoint="/load_balancers/-/actions/add_target"',
                50,
              ),
              recorded(
                requests,
                'job="ccm",instance="a",code="unauthorized",method="get",api_endpoint="/servers"',
                10,
              ),
            ),
            at(
              `${durations}_bucket`,
              recorded(`${durations}_bucket`, 'job="ccm",instance="a",method="post",le="0.1"', 30),
              recorded(`${durations}_bucket`, 'job="ccm",instance="a",method="get",le="0.1"', 40),
            ),
            at(`${durations}_sum`, recorded(`${durations}_sum`, 'job="ccm",instance="a",method="get"', 20)),
            at(
              `${durations}_count`,
              recorded(`${durations}_count`, 'job="ccm",instance="a",method="get"', 60),
            ),
          ],
        },
      ],
    });
    expect(tool("test", "rules", path)).toContain("SUCCESS");
  });

  test("promtool evaluates every alert: it fires after its time, and does not fire without a problem [F84]", () => {
    expect([...new Set(alertCases.map(({ alert }) => alert))]).toEqual(alerts.map(({ alert }) => alert));
    // Only the summary, so that the cases need not repeat the other texts.
    const rules = alerts.map((rule) => ({
      ...rule,
      annotations: { summary: rule.annotations["summary"] ?? "" },
    }));
    const seriesOf = (series: Series) =>
      Object.entries(series).map(([name, values]) => ({ series: name, values }));
    const at = (minutes: number, alertname: string, expected: readonly object[]) => ({
      eval_time: `${minutes}m`,
      alertname,
      exp_alerts: expected,
    });
    const testsOf = ({ alert, fires, after, labels, summary, quiet }: AlertCase) => {
      const severity = alerts.find((rule) => rule.alert === alert)?.labels["severity"];
      const fired = { exp_labels: { ...labels, severity }, exp_annotations: { summary } };
      return [
        {
          name: `${alert} fires`,
          interval: "1m",
          input_series: seriesOf(fires),
          alert_rule_test: [at(after - 1, alert, []), at(after, alert, [fired])],
        },
        {
          name: `${alert} is quiet`,
          interval: "1m",
          input_series: seriesOf(quiet),
          alert_rule_test: [at(after - 1, alert, []), at(after, alert, []), at(after + 10, alert, [])],
        },
      ];
    };
    write("rules.json", groupOf(rules));
    const path = write("tests.json", {
      rule_files: ["rules.json"],
      evaluation_interval: "1m",
      tests: alertCases.flatMap(testsOf),
    });
    expect(tool("test", "rules", path)).toContain("SUCCESS");
  });
});

/** The only YAML of groups in the page. */
function documentedRules(): string {
  const page = readFileSync(join(import.meta.dir, "../../docs/clouds/hetzner.md"), "utf8");
  return /```yaml\n(groups:\n[^`]+)```/.exec(page)?.[1] ?? "";
}

interface Dashboard {
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}
const dashboardPath = join(import.meta.dir, "../../deploy/monitoring/dashboard.json");
const { panels, annotations } = JSON.parse(readFileSync(dashboardPath, "utf8")) as Dashboard;
/** The expression as Grafana sends it when everything is selected. */
const filledIn = (expr: string): string =>
  expr.replaceAll(/\$(?:cluster|job)\b/g, ".*").replaceAll("$__rate_interval", "4s");
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: filledIn(expr) })),
);

/** The same rules with short times: a second instead of minutes, and rates over 8 s. */
const quick = alerts.map((rule) => ({
  ...rule,
  for: "1s",
  expr: rule.expr.replaceAll(/\[\d+m\]/g, "[8s]"),
}));

describe.if(prometheus !== undefined)("a real Prometheus that scrapes the executable", () => {
  test("Prometheus fires each main alert while its condition holds, and ends it afterwards [F84 F85 F87]", async () => {
    await using world = await LocalWorld.open();
    const [port, waitingPort, web] = [freePort(), freePort(), freePort()];
    const rules = write("quick.json", groupOf(quick));
    const config = write("prometheus.json", {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [rules],
      scrape_configs: [
        {
          job_name: "ccm",
          scheme: "https",
          tls_config: { insecure_skip_verify: true },
          authorization: { credentials: world.token },
          static_configs: [{ targets: [`127.0.0.1:${port}`, `127.0.0.1:${waitingPort}`] }],
        },
      ],
    });
    const server = startProcess(
      [
        prometheus ?? "",
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${web}`,
      ],
      { cwd: folder },
    );
    try {
      const firing = async (): Promise<readonly string[]> => {
        const answer = await fetch(`http://127.0.0.1:${web}/api/v1/alerts`);
        const { data } = (await answer.json()) as {
          data: { alerts: readonly { state: string; labels: { alertname: string } }[] };
        };
        return data.alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname);
      };
      const explain = (): string => server.output().slice(-2000);
      const fires = (...names: readonly string[]) =>
        until(
          `firing: ${names.join(", ")}`,
          async () => {
            const now = await firing();
            const missing = names.filter((name) => !now.includes(name));
            if (missing.length > 0)
              throw new Error(`Missing: ${missing.join(", ")}. Firing: ${now.join(", ")}.`);
            return true;
          },
          { seconds: 180, everyMs: 250, explain },
        );
      const ends = (...names: readonly string[]) =>
        until(
          `no longer firing: ${names.join(", ")}`,
          async () => !(await firing()).some((name) => names.includes(name)),
          { seconds: 180, everyMs: 250, explain },
        );

      await fires("FairleadDown");

      for (let index = 0; index < 8; index += 1) world.addNode(`node-${index}`);
      const status = { conditions: [{ type: "Ready", status: "True" }] };
      world.putNode({ name: "lost", spec: { taints: [uninitialized] }, status });
      world.addService("wrong", { "balancer.fake.example/algorithm": "fastest" });
      const file = join(folder, "fairlead.yaml");
      writeFileSync(file, flagsFile("cluster-name: first"));
      world.addService("web");
      // An increase needs an earlier value of the counter.
      world.cloud.faults.add({ kind: "status", status: 401 });
      world.cloud.faults.add({ kind: "reset", after: 1 });
      const leader = await world.startOn(
        port,
        `--config=${file}`,
        "--cluster-cidr=10.244.0.0/16",
        "--absence-confirmation=5s",
      );
      const reload = (...flags: readonly string[]): void => {
        writeFileSync(file, flagsFile(...flags));
        leader.process.signal("SIGHUP");
      };
      await fires("FairleadNodesUninitialized", "FairleadServicesFailing");
      await ends("FairleadDown");
      for (let index = 0; index < 5; index += 1) {
        world.cloud.machines.remove(`node-${index}`);
        world.setReady(`node-${index}`, "Unknown");
      }
      reload("cluster-name: second");
      await fires("FairleadRestartPending");
      reload("cluster-name: second", "no-such-flag: 1");
      await fires("FairleadConfigurationRefused", "FairleadMassLimitHolds");
      expect(await firing()).not.toContain("FairleadNoLeader");

      // At this time every panel of the dashboard has data, except metrics that this cloud does not report.
      const empty: string[] = [];
      for (const { title, expr } of queries) {
        const answer = await fetch(
          `http://127.0.0.1:${web}/api/v1/query?${new URLSearchParams({ query: expr })}`,
        );
        const { status: result, data } = (await answer.json()) as {
          status: string;
          data?: { result: readonly unknown[] };
        };
        expect([title, result]).toEqual([title, "success"]);
        if (data?.result.length === 0) empty.push(title);
      }
      // The budget has data only until the fake cloud's limit is full again, a second after a request.
      const lasting = empty.filter((title) => title !== "Request budget");
      // The limit of the route table, the health of targets, k3s Nodes, announcements, streams of
      // changes, and node-volumes, which does not run here.
      expect(lasting).toEqual([
        ...["Routes", "Health of targets", "k3s and RKE2 Nodes"],
        ...["Deprecations", "Open change streams"],
        ...[
          "Nodes that serve volumes",
          "Nodes that serve volumes",
          "CSI calls that failed",
          "Duration of CSI calls",
        ],
      ]);

      // This ends the conditions.
      reload("cluster-name: first");
      world.deleteService("wrong");
      for (let index = 0; index < 5; index += 1) world.setReady(`node-${index}`, "True");
      await ends(
        "FairleadConfigurationRefused",
        "FairleadRestartPending",
        "FairleadServicesFailing",
        "FairleadMassLimitHolds",
      );

      // The cloud first rejects everything, and is then gone.
      world.cloud.faults.add({ kind: "status", status: 401, calls: 1000 });
      const retry = setInterval(() => world.addService(`web-${crypto.randomUUID().slice(0, 8)}`), 1000);
      try {
        await fires("FairleadCredentialsRefused");
        await world.stopCloud();
        await fires("FairleadCloudUnreachable");
      } finally {
        clearInterval(retry);
      }

      // The leader disappears without releasing its Lease, and the other replica waits for it.
      const waiting = world.startOn(waitingPort, "--leader-elect-lease-duration=1h");
      await waiting;
      leader.process.signal("SIGKILL");
      await fires("FairleadNoLeader");
    } finally {
      await server.stop();
    }
  }, 180_000);
});
