import { describe, expect, test } from "bun:test";
import {
  createMigration,
  defaultMigration,
  readMigrationOf,
  readMigrationText,
} from "../../src/app/leadership/leader-migration.ts";

// Rows of upstream's tests in pkg/leadermigration.

const listed = ["route-controller", "service-controller", "cloud-node-lifecycle-controller"];
const places = (component: string, asking: string) => {
  const { placeOf } = createMigration(
    { leaderName: "lock", controllerLeaders: listed.map((name) => ({ name, component })) },
    asking,
  );
  return [placeOf("node-route"), placeOf("service"), placeOf("cloud-node-lifecycle"), placeOf("cloud-node")];
};

describe("TestLeaderMigratorFilterFunc", () => {
  const [kcm, ccm] = ["kube-controller-manager", "cloud-controller-manager"];
  test.each([
    [kcm, kcm, "migrated"],
    [kcm, ccm, "elsewhere"],
    [ccm, kcm, "elsewhere"],
    [ccm, ccm, "migrated"],
    ["*", kcm, "migrated"],
    ["*", ccm, "migrated"],
  ])(
    "TestLeaderMigratorFilterFunc: assigned to %s, asked by %s: the controllers are %s [F68]",
    (component, asking, place) => {
      expect(places(component, asking) as string[]).toEqual([place, place, place, "main"]);
    },
  );
});

test("TestLeaderMigratorFilterFunc (Fairlead): the built-in configuration migrates all three controllers [F68]", () => {
  // Upstream compares only current names, and matches one of the three in its default. See docs/differences.md.
  const { placeOf, leaderName } = createMigration(defaultMigration);
  expect(leaderName).toBe("cloud-provider-extraction-migration");
  expect([
    placeOf("node-route"),
    placeOf("service"),
    placeOf("cloud-node-lifecycle"),
    placeOf("cloud-node"),
  ]).toEqual(["migrated", "migrated", "migrated", "main"]);
});

const file = (version: string, more = "") => `apiVersion: controllermanager.config.k8s.io/${version}
kind: LeaderMigrationConfiguration
leaderName: my-lock
${more}`;
const leaders = `controllerLeaders:
  - name: service-lb-controller
    component: "*"
  - name: cloud-node-controller
    component: kube-controller-manager
`;

describe("TestReadLeaderMigrationConfiguration", () => {
  test.each([
    ["an empty file", ""],
    ["another kind", file("v1").replace("LeaderMigrationConfiguration", "Foo")],
    ["an unknown field", file("v1", "foo: bar\n")],
    ["an unknown field in a leader", file("v1", `${leaders}    foo: bar\n`)],
    ["a repeated field", file("v1", "leaderName: other\n")],
    ["an unknown version", file("v2")],
    ["no leader name", file("v1").replace("leaderName: my-lock", "leaderName: ''")],
    ["an invalid lock", file("v1", "resourceLock: invalid\n")],
  ])("TestReadLeaderMigrationConfiguration: refuses %s [F68]", async (_, text) => {
    const { migration, problems } = await readMigrationText(text);
    expect(migration).toBeUndefined();
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem.text).toStartWith("--leader-migration-config: ");
  });

  test.each(["v1alpha1", "v1beta1", "v1"])(
    "TestReadLeaderMigrationConfiguration: accepts %s with leaders [F68]",
    async (version) => {
      expect(await readMigrationText(file(version, `resourceLock: leases\n${leaders}`))).toEqual({
        migration: {
          leaderName: "my-lock",
          controllerLeaders: [
            { name: "service-lb-controller", component: "*" },
            { name: "cloud-node-controller", component: "kube-controller-manager" },
          ],
        },
        problems: [],
      });
    },
  );

  test("TestValidateLeaderMigrationConfiguration: accepts an empty list of leaders [F68]", async () => {
    expect((await readMigrationText(file("v1", "controllerLeaders: []\n"))).problems).toEqual([]);
  });

  test('TestReadLeaderMigrationConfiguration (Fairlead): refuses the lock "endpoints" while reading [F68]', async () => {
    // Upstream accepts this value and fails when it creates the lock, which no longer exists.
    const { problems } = await readMigrationText(file("v1alpha1", "resourceLock: endpoints\n"));
    expect(problems[0]?.text).toContain("leases");
  });
});

describe("TestLeaderMigrationOptions", () => {
  const flags = (given: object) => ({
    "leader-elect": true,
    "enable-leader-migration": true,
    "leader-migration-config": undefined,
    ...given,
  });
  const files = { read: async () => file("v1", leaders) };
  const none = { read: () => Promise.reject(Object.assign(new Error("none"), { code: "ENOENT" })) };

  test("TestLeaderMigrationOptions: uses the built-in configuration when only enabled [F68]", async () => {
    const { migration } = await readMigrationOf(flags({}), none);
    expect(migration?.leaderName).toBe("cloud-provider-extraction-migration");
  });
  test("TestLeaderMigrationOptions: uses the given configuration file [F68]", async () => {
    const { migration } = await readMigrationOf(flags({ "leader-migration-config": "/f" }), files);
    expect([
      migration?.leaderName,
      migration?.placeOf("service"),
      migration?.placeOf("cloud-node"),
    ] as unknown).toEqual(["my-lock", "migrated", "elsewhere"]);
  });
  test("TestLeaderMigrationOptions: names a file that does not exist [F68]", async () => {
    const { problems } = await readMigrationOf(flags({ "leader-migration-config": "/nowhere" }), none);
    expect(problems[0]?.text).toBe(
      "--leader-migration-config: cannot read /nowhere (ENOENT); check that the file exists and that this process may read it",
    );
  });
  test.each([{ "enable-leader-migration": false }, { "leader-elect": false }])(
    "TestLeaderMigrationOptions: ignores the file with %j [F68]",
    async (given) => {
      expect(await readMigrationOf(flags({ ...given, "leader-migration-config": "/f" }), files)).toEqual({
        problems: [],
      });
    },
  );
});
