// How `CloudVolumes` treats a cloud that shows false states. The conformance suites cover faults of the transport.

import { describe, expect, test } from "bun:test";
import { volumeDriver as driver } from "../../../providers/fake/volumes.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import type { Call } from "../../../src/provider/call.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import type { Pending } from "../../../src/provider/plan.ts";
import type { ObservedVolume, Volumes } from "../../../src/provider/volumes.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { CloudVolumes } from "../../../src/volumes/csi/cloud-volumes.ts";
import { readParameters } from "../../../src/volumes/csi/volume-requests.ts";

const zone = "topology.fake.example/zone";
const gibibyte = 2 ** 30;
const signal = new AbortController().signal;
const done = { done: true } as const;

const disk = (changes: Partial<ObservedVolume> = {}): ObservedVolume => ({
  id: "v1",
  name: "pvc-1",
  size: gibibyte,
  topology: { [zone]: "a" },
  attachedTo: [],
  device: "/dev/x",
  state: "ready",
  ...changes,
});

/** A cloud that responds to each read as given, and accepts every change without an effect. */
function lying(
  shown: { all?: readonly ObservedVolume[]; one?: ObservedVolume | undefined },
  pending?: Pending,
) {
  const changes: string[] = [];
  let listings = 0;
  const change = (name: string) => async () => {
    changes.push(name);
    return pending === undefined
      ? done
      : ({ done: false, operation: name, checkAfter: seconds(1), waitingFor: "x" } as const);
  };
  const volumes: Volumes = {
    list: async function* () {
      listings += 1;
      yield shown.all ?? [];
    },
    get: async () => shown.one,
    create: async () => ({ ...(await change("create")()), id: "v1" }),
    remove: change("remove"),
    attach: change("attach"),
    detach: change("detach"),
    expand: change("expand"),
  };
  const clock = new VirtualClock();
  const cloud = new CloudVolumes({ volumes, pending, clock, life: signal });
  return { cloud, changes, clock, volumes, listings: () => listings };
}

const { values } = readParameters({}, driver);
const range = { size: gibibyte, limit: 10 * gibibyte };
const request = { name: "pvc-1", range, places: [{ [zone]: "a" }], parameters: values, claim: undefined };
const failure = (work: Promise<unknown>) =>
  work.then(
    () => "succeeded",
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  );

describe("a change that the cloud reports although it has no effect", () => {
  const attached = disk({ attachedTo: ["7"] });
  const cases: readonly (readonly [
    string,
    ObservedVolume | undefined,
    (cloud: CloudVolumes) => Promise<unknown>,
    string,
  ])[] = [
    [
      "creation",
      undefined,
      (cloud) => cloud.create(request, signal),
      "Volume pvc-1 (v1) was created according to the cloud, but it does not exist.",
    ],
    [
      "deletion",
      disk(),
      (cloud) => cloud.remove("v1", signal),
      "was deleted according to the cloud, but it still exists.",
    ],
    [
      "attachment",
      disk(),
      (cloud) => cloud.attach("v1", "7", signal),
      "was attached to machine 7 according to the cloud, but it is not attached to it.",
    ],
    [
      "detachment",
      attached,
      (cloud) => cloud.detach("v1", "7", signal),
      "was detached from machine 7 according to the cloud, but it is still attached to it.",
    ],
    [
      "expansion",
      disk(),
      (cloud) => cloud.expand("v1", { size: 2 * gibibyte, limit: range.limit }, signal),
      "was expanded to 2Gi according to the cloud, but it has its former size.",
    ],
  ];
  test.each(cases)(
    "a change that the cloud reports although it has no effect is not a success: %s",
    async (_, one, work, text) => {
      const { cloud, changes } = lying({ one });
      const message = await failure(work(cloud));
      expect([message.startsWith("UNAVAILABLE: "), message.includes(text), changes.length]).toEqual([
        true,
        true,
        1,
      ]);
    },
  );
});

describe("a lookup that a listing contradicts", () => {
  test("a lookup that a listing contradicts does not prove that a volume is gone", async () => {
    const { cloud, changes } = lying({ all: [disk()], one: undefined });
    expect(await failure(cloud.remove("v1", signal))).toBe(
      "UNAVAILABLE: Volume pvc-1 (v1) does not exist according to a lookup, but a cloud listing shows it. It counts as unchanged. Try again.",
    );
    expect(changes).toEqual([]);
  });

  test("a lookup that a listing contradicts does not prove that a volume was detached", async () => {
    const { cloud, changes } = lying({ all: [disk({ attachedTo: ["7"] })], one: disk() });
    expect(await failure(cloud.detach("v1", "7", signal))).toBe(
      "UNAVAILABLE: Volume pvc-1 (v1) is not attached to machine 7 according to a lookup, but a cloud listing shows that it is. It counts as unchanged. Try again.",
    );
    expect(changes).toEqual([]);
  });
});

test("a volume that is attached only according to a lookup is not reported as attached", async () => {
  const { cloud, changes } = lying({ all: [disk()], one: disk({ attachedTo: ["7"] }) });
  expect(await failure(cloud.attach("v1", "7", signal))).toBe(
    "UNAVAILABLE: Volume pvc-1 (v1) is attached to machine 7 according to a lookup, but a cloud listing shows that it is not. It counts as unchanged. Try again.",
  );
  expect(changes).toEqual([]);
});

test("a volume that neither a lookup nor a listing shows counts as deleted and detached", async () => {
  const { cloud, changes } = lying({ all: [], one: undefined });
  expect([await cloud.remove("v1", signal), await cloud.detach("v1", "7", signal)]).toEqual([false, false]);
  expect(changes).toEqual([]);
});

describe("a volume with the name of the claim", () => {
  test("a volume with the name of the claim is used without a change when it fits", async () => {
    const { cloud, changes } = lying({ all: [disk()] });
    expect((await cloud.create(request, signal)).id).toBe("v1");
    expect(changes).toEqual([]);
  });

  const unfit: readonly (readonly [string, readonly ObservedVolume[], string])[] = [
    [
      "of a different size",
      [disk({ size: 20 * gibibyte })],
      "ALREADY_EXISTS: Volume pvc-1 (v1) exists, but its size is 20Gi",
    ],
    [
      "in another place",
      [disk({ topology: { [zone]: "b" } })],
      "ALREADY_EXISTS: Volume pvc-1 (v1) exists, but it is in b",
    ],
    [
      "that is being created",
      [disk({ state: "changing" })],
      "ABORTED: Volume pvc-1 (v1) is being created or changed",
    ],
    [
      "that the cloud could not create",
      [disk({ state: "failed" })],
      "INTERNAL: The cloud failed to create Volume pvc-1 (v1). Delete it in the cloud; it is then created again.",
    ],
    [
      "that exists twice",
      [disk(), disk({ id: "v2" })],
      "INTERNAL: 2 volumes have the name pvc-1: v1, v2. None is used.",
    ],
  ];
  test.each(unfit)(
    "a volume with the name of the claim %s is neither used nor recreated",
    async (_, all, text) => {
      const { cloud, changes } = lying({ all });
      expect(await failure(cloud.create(request, signal))).toContain(text);
      expect(changes).toEqual([]);
    },
  );
});

test("a volume whose creation failed in the cloud is deleted only by the call that created it", async () => {
  const { cloud, changes } = lying({ one: disk({ state: "failed" }) });
  expect(await failure(cloud.create(request, signal))).toBe(
    "RESOURCE_EXHAUSTED: The cloud could not create the volume pvc-1 (v1), so it is deleted again. A frequent reason is that no storage of this type has room there.",
  );
  expect(changes).toEqual(["create", "remove"]);
});

test("a volume that can be used everywhere is used in each place", async () => {
  const { cloud, changes } = lying({ all: [disk({ topology: {} })] });
  expect(await cloud.create(request, signal)).toMatchObject({ id: "v1" });
  expect(changes).toEqual([]);
});

test("a protected volume is not deleted", async () => {
  const { cloud, changes } = lying({ one: disk({ isProtected: true }) });
  expect(await failure(cloud.remove("v1", signal))).toContain("is protected against deletion in the cloud");
  expect(changes).toEqual([]);
});

test("a volume cannot become smaller than a claim allows", async () => {
  const { cloud } = lying({ one: disk({ size: 20 * gibibyte }) });
  expect(await failure(cloud.expand("v1", range, signal))).toContain(
    "OUT_OF_RANGE: Volume pvc-1 (v1) has 20Gi",
  );
});

test("two calls for one volume do not work on it at the same time", async () => {
  const { cloud, changes } = lying({ one: disk() });
  const [first, second] = await Promise.all([
    failure(cloud.attach("v1", "7", signal)),
    failure(cloud.attach("v1", "8", signal)),
  ]);
  expect(first).toContain("is not attached to it");
  expect(second).toBe("ABORTED: Another call works on the volume v1. Try again.");
  expect(changes).toEqual(["attach"]);
});

test("fifty simultaneous claims need two listings", async () => {
  const { cloud, listings } = lying({ one: disk() });
  const names = Array.from({ length: 50 }, (_, index) => `pvc-${index}`);
  await Promise.all(names.map((name) => cloud.create({ ...request, name }, signal)));
  expect(listings()).toBeLessThanOrEqual(2);
});

test("a deletion is not complete while a listing shows the volume", async () => {
  let reads = 0;
  const shown = {
    all: [disk()],
    get one() {
      reads += 1;
      return reads === 1 ? disk() : undefined;
    },
  };
  const { cloud, changes } = lying(shown);
  expect(await failure(cloud.remove("v1", signal))).toStartWith(
    "UNAVAILABLE: Volume pvc-1 (v1) does not exist",
  );
  expect(changes).toEqual(["remove"]);
});

test("a creation waits for the rate limit behind attachments", async () => {
  const urgencies: Record<string, string> = {};
  const { cloud, volumes } = lying({ all: [], one: disk() });
  for (const name of ["list", "get", "create", "attach"] as const) {
    const original = volumes[name] as (...args: readonly unknown[]) => unknown;
    Object.assign(volumes, {
      [name]: (...args: readonly unknown[]) => {
        urgencies[name] = (args.at(-1) as Call).urgency;
        return original(...args);
      },
    });
  }
  await cloud.create(request, signal);
  await failure(cloud.attach("v1", "7", signal));
  expect(urgencies).toMatchObject({ create: "new-node", attach: "user-change" });
});

describe("an operation of the cloud", () => {
  const pendingWith = (answer: (checks: number) => Awaited<ReturnType<Pending["check"]>>) => {
    const checked: (readonly string[])[] = [];
    const pending: Pending = {
      limit: 25,
      check: async (ids) => {
        checked.push(ids);
        return answer(checked.length);
      },
    };
    return { pending, checked };
  };

  test("an operation of the cloud has its error, by kind, when it fails", async () => {
    const error = new CloudError("quota", "no space left in fsn1", { operation: "GET /actions" });
    const { pending } = pendingWith(() => new Map([["attach", error]]));
    const { cloud, clock } = lying({ one: disk() }, pending);
    const ended = failure(cloud.attach("v1", "7", signal));
    await clock.advance(seconds(2));
    expect(await ended).toBe("RESOURCE_EXHAUSTED: no space left in fsn1");
  });

  test("a cloud operation is checked with other operations until it has ended, even when a check fails", async () => {
    const running = { done: false, checkAfter: seconds(1), waitingFor: "x" } as const;
    const { pending, checked } = pendingWith((checks) => {
      if (checks === 2) throw new CloudError("unavailable", "reset", { operation: "GET /actions" });
      return checks < 4 ? new Map([["create", running]]) : new Map([["create", done]]);
    });
    const { cloud, clock } = lying({ one: disk() }, pending);
    const names = Array.from({ length: 10 }, (_, index) => `pvc-${index}`);
    let isDone = false;
    const all = Promise.all(names.map((name) => cloud.create({ ...request, name }, signal))).then(
      () => (isDone = true),
    );
    await clock.until(() => isDone, milliseconds(60_000), "the creations");
    await all;
    expect(checked).toEqual([["create"], ["create"], ["create"], ["create"]]);
  });
});
