import { describe, expect, test } from "bun:test";
import { createMigration, defaultMigration } from "../../src/app/leadership/leader-migration.ts";
import { readMigrationOf, readMigrationText } from "../../src/app/leadership/leader-migration-file.ts";

// Rows of upstream's test catalogue, 9.14: pkg/leadermigration.

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
  ])("TestLeaderMigratorFilterFunc: listed for %s, asked by %s: %s [F68]", (component, asking, place) => {
    expect(places(component, asking) as string[]).toEqual([place, place, place, "main"]);
  });
});

test("TestLeaderMigratorFilterFunc: the built-in configuration moves all three, as we do [F68]", () => {
  // Upstream compares with the present names only; of its own three it then finds one. See docs/differences.md.
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
    ["empty", ""],
    ["of another kind", file("v1").replace("LeaderMigrationConfiguration", "Foo")],
    ["with an unknown field", file("v1", "foo: bar\n")],
    ["with an unknown field in a leader", file("v1", `${leaders}    foo: bar\n`)],
    ["with a field twice", file("v1", "leaderName: other\n")],
    ["of an unknown version", file("v2")],
    ["without a name", file("v1").replace("leaderName: my-lock", "leaderName: ''")],
    ["with an invalid lock", file("v1", "resourceLock: invalid\n")],
  ])("TestReadLeaderMigrationConfiguration: a file %s is refused [F68]", async (_, text) => {
    const { migration, problems } = await readMigrationText(text);
    expect(migration).toBeUndefined();
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem.text).toStartWith("--leader-migration-config: ");
  });

  test.each(["v1alpha1", "v1beta1", "v1"])(
    "TestReadLeaderMigrationConfiguration: %s with leaders is read [F68]",
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

  test("TestValidateLeaderMigrationConfiguration: an empty list of leaders is right [F68]", async () => {
    expect((await readMigrationText(file("v1", "controllerLeaders: []\n"))).problems).toEqual([]);
  });

  test("TestReadLeaderMigrationConfiguration: the lock endpoints is refused when it is read, as we do [F68]", async () => {
    // Upstream accepts the word and fails when it makes the lock, which no longer exists.
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

  test("TestLeaderMigrationOptions: enabled alone, the built-in configuration counts [F68]", async () => {
    const { migration } = await readMigrationOf(flags({}), none);
    expect(migration?.leaderName).toBe("cloud-provider-extraction-migration");
  });
  test("TestLeaderMigrationOptions: with a file, that one counts [F68]", async () => {
    const { migration } = await readMigrationOf(flags({ "leader-migration-config": "/f" }), files);
    expect([
      migration?.leaderName,
      migration?.placeOf("service"),
      migration?.placeOf("cloud-node"),
    ] as unknown).toEqual(["my-lock", "migrated", "elsewhere"]);
  });
  test("TestLeaderMigrationOptions: a file that is not there is told by its name [F68]", async () => {
    const { problems } = await readMigrationOf(flags({ "leader-migration-config": "/nowhere" }), none);
    expect(problems[0]?.text).toBe(
      "--leader-migration-config: /nowhere cannot be read (ENOENT); check that it is there and that we may read it",
    );
  });
  test.each([{ "enable-leader-migration": false }, { "leader-elect": false }])(
    "TestLeaderMigrationOptions: not with %j [F68]",
    async (given) => {
      expect(await readMigrationOf(flags({ ...given, "leader-migration-config": "/f" }), files)).toEqual({
        problems: [],
      });
    },
  );
});
