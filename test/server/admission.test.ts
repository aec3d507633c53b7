// The admission webhook over HTTP: which reviews it accepts, how it responds, and that it counts every request.

import { beforeEach, describe, expect, test } from "bun:test";
import { chooseWebhooks } from "../../src/app/flags/webhook-names.ts";
import type { ServedRequest } from "../../src/platform/listener.ts";
import { Admission, type AdmissionDecision, type AdmissionOptions } from "../../src/server/admission.ts";

let counted: [string, number, boolean][] = [];
let judgement: () => AdmissionDecision = () => ({});
/** Turns of the event loop that reviews wait for. */
let turns: (() => void)[] = [];
/** The limits on the time of bodies. */
let timers: { readonly delay: number; readonly run: () => void }[] = [];
const turnEnds = (): void => turns.shift()?.();
let now = 0;
let admission: Admission;
beforeEach(() => {
  counted = [];
  judgement = () => ({});
  now = 0;
  turns = [];
  timers = [];
  admission = new Admission(options);
});
const options: AdmissionOptions = {
  webhooks: [{ name: "hook", path: "/hook", judge: () => judgement() }],
  clock: {
    monotonic: () => now,
    after: (delay, run) => {
      if (delay === 0) {
        turns.push(run);
        return () => undefined;
      }
      const timer = { delay, run };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  },
  onAnswer: (name, code, _, isRefusal) => counted.push([name, code, isRefusal]),
  onInternalError: () => undefined,
};
const review = (changes: object = {}) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { uid: "4711", operation: "CREATE", object: {} },
  ...changes,
});
const begin = (body: string, changes: Partial<ServedRequest> = {}) =>
  admission.serve({
    method: "POST",
    target: "/hook?timeout=5s",
    headers: [["content-type", "application/json"]],
    peer: undefined,
    client: "10.0.0.1",
    body: async (limit) => (body.length > limit ? undefined : body),
    ...changes,
  });

const send: typeof begin = async (body, changes) => {
  const answer = begin(body, changes);
  await flush();
  turnEnds();
  return answer;
};
const flush = async (): Promise<void> => {
  for (let step = 0; step < 20; step++) await Promise.resolve();
};

describe("admission review", () => {
  test("an admission review is answered with its uid and counted, even when it is allowed [F48]", async () => {
    const answer = await send(JSON.stringify(review()));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "4711", allowed: true },
    });
    expect(counted).toEqual([["hook", 200, false]]);
  });

  test("an admission review is rejected with a reason that is truncated to 1,000 characters", async () => {
    judgement = () => ({ refusal: "x".repeat(5000), warnings: ["w"] });
    const { response } = JSON.parse((await send(JSON.stringify(review()))).body);
    expect(response).toMatchObject({ uid: "4711", allowed: false, warnings: ["w"], status: { code: 422 } });
    expect(response.status.message).toHaveLength(1000);
    expect(counted).toEqual([["hook", 200, true]]);
  });

  test("an admission review gets status 500 without details when the webhook throws", async () => {
    judgement = () => {
      throw new Error("a secret");
    };
    const answer = await send(JSON.stringify(review()));
    expect([answer.status, answer.body.includes("a secret")]).toEqual([500, false]);
  });
});

describe("admission endpoint refuses and counts", () => {
  const cases: readonly (readonly [string, string, Partial<ServedRequest>, number])[] = [
    ["a request with another content type", "{}", { headers: [["content-type", "text/plain"]] }, 400],
    [
      "a request with a charset in its content type",
      "{}",
      { headers: [["content-type", "application/json; charset=utf-8"]] },
      400,
    ],
    ["a request without content type", "{}", { headers: [] }, 400],
    ["a request without body", "", {}, 400],
    ["a body that is not JSON", "{", {}, 400],
    ["a review of another kind", JSON.stringify(review({ kind: "Pod" })), {}, 400],
    ["a review whose kind has no string", JSON.stringify(review({ kind: { toString: 1 } })), {}, 400],
    [
      "a review of another API version",
      JSON.stringify(review({ apiVersion: "admission.k8s.io/v1beta1" })),
      {},
      400,
    ],
    ["a review without request", JSON.stringify(review({ request: null })), {}, 400],
    ["a review without uid", JSON.stringify(review({ request: { operation: "CREATE" } })), {}, 400],
    ["a body that is null", "null", {}, 400],
    ["a body that is too large", "x".repeat(5_000_000), {}, 413],
    ["a GET request", "", { method: "GET" }, 405],
    ["a request for another path", "", { target: "/other" }, 404],
  ];
  test.each(cases)("%s", async (_, body, changes, status) => {
    expect((await send(body, changes)).status).toBe(status);
    expect(counted.map(([, code]) => code)).toEqual([status]);
  });
});

describe("admission endpoint limits its clients", () => {
  const valid = JSON.stringify(review());

  test("the admission endpoint evaluates one review per turn of the event loop [N25]", async () => {
    let judged = 0;
    judgement = () => {
      judged += 1;
      return {};
    };
    const answers = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((client) => begin(valid, { client }));
    for (const expected of [0, 1, 2, 3]) {
      await flush();
      expect([judged, turns.length]).toEqual([expected, expected === 3 ? 0 : 1]);
      turnEnds();
    }
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("the admission endpoint reads at most 8 bodies per client and 16 in total, and rejects further requests unread [N25]", async () => {
    let reading = 0;
    const body = (): Promise<string> => {
      reading += 1;
      return new Promise(() => undefined);
    };
    const statuses: number[] = [];
    for (const client of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) {
      for (let index = 0; index < 10; index++)
        void begin("", { client, body }).then(({ status }) => statuses.push(status));
    }
    await flush();
    expect(reading).toBe(16);
    expect(statuses).toEqual(Array.from({ length: 14 }, () => 429));
  });

  test("the admission endpoint rejects a client's reviews above 200 per second, but not another client's reviews [N25]", async () => {
    for (let index = 0; index < 200; index++) expect((await send(valid)).status).toBe(200);
    expect((await begin(valid)).status).toBe(429);
    expect((await send(valid, { client: "10.0.0.2" })).status).toBe(200);
    now += 10;
    expect((await send(valid)).status).toBe(200);
    expect((await send(valid)).status).toBe(200);
    expect((await begin(valid)).status).toBe(429);
  });

  test("the admission endpoint gives up a body that does not arrive within 2 s, and frees the place of its client [N25]", async () => {
    const body = (): Promise<string> => new Promise(() => undefined);
    const slow = Array.from({ length: 8 }, () => begin("", { body }));
    await flush();
    expect((await begin(valid)).status).toBe(429);
    for (const timer of timers.splice(0)) {
      expect(timer.delay).toBe(2000);
      timer.run();
    }
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual(
      Array.from({ length: 8 }, () => 408),
    );
    expect((await send(valid)).status).toBe(200);
    expect(timers).toEqual([]);
  });

  test("the admission endpoint does not parse a review with more than 20,000 members, even if it is valid [N25]", async () => {
    const annotations = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'a:"b"\\']));
    const withAnnotations = (count: number) =>
      JSON.stringify(
        review({ request: { uid: "1", operation: "CREATE", object: { metadata: annotations(count) } } }),
      );
    expect((await send(withAnnotations(19_000))).status).toBe(200);
    const { status, body } = await send(withAnnotations(20_001));
    expect([status, body]).toEqual([400, expect.stringContaining("it has a number of members above 20000")]);
  });

  test("the admission endpoint does not parse a review with more than 64 levels [N25]", async () => {
    const nested = (depth: number) => ({
      request: { uid: "1", operation: "CREATE", object: JSON.parse("[".repeat(depth) + "]".repeat(depth)) },
    });
    // Two levels are above the object.
    expect((await send(JSON.stringify(review(nested(62))))).status).toBe(200);
    const { status, body } = await send(JSON.stringify(review(nested(63))));
    expect([status, body]).toEqual([400, expect.stringContaining("it has a depth above 64")]);
  });

  test("the admission endpoint rejects a body above 1 MiB [N25]", async () => {
    expect((await begin("x".repeat(1024 * 1024 + 1))).status).toBe(413);
  });
});

describe("chooseWebhooks", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["webhook-a,webhook-b", ["webhook-a", "webhook-b"]],
    ["webhook-a", ["webhook-a"]],
    ["webhook-a,-webhook-b", ["webhook-a"]],
    ["-webhook-b", []],
    ["*", ["webhook-a", "webhook-b"]],
  ];
  test.each(cases)(
    "TestWebhookEnableDisable: selects the enabled webhooks with --webhooks=%s",
    (flag, enabled) => {
      const all = ["webhook-a", "webhook-b"];
      expect(chooseWebhooks(flag.split(","), all)).toEqual({ enabled, unknown: [] });
    },
  );
});
