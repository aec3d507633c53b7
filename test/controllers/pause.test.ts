import { expect, test } from "bun:test";
import { pauseOf } from "../../src/controllers/pause.ts";
import { admitService } from "../../src/controllers/service/admit.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";

// One table with the values of fairlead.dev/paused, for Nodes, Services and the webhook.

const annotated = (value: string | undefined) => ({
  metadata: { name: "web", annotations: value === undefined ? {} : { "fairlead.dev/paused": value } },
});

const cases: readonly (readonly [string | undefined, boolean, string | undefined])[] = [
  [undefined, false, undefined],
  ["false", false, undefined],
  [" false ", false, undefined],
  ["true", true, undefined],
  ["true ", true, undefined],
  ["", true, '""'],
  ["yes", true, '"yes"'],
  ["False", true, '"False"'],
  ["0", true, '"0"'],
];

test.each(cases)("reads fairlead.dev/paused %j as paused: %j", (value, isPaused, shown) => {
  const pause = pauseOf(annotated(value));
  expect(pause.isPaused).toBe(isPaused);
  if (shown === undefined) expect(pause.problem).toBeUndefined();
  else expect(pause.problem?.text).toContain(`must be "true" or "false", got ${shown}.`);
});

test.each(cases)(
  "the webhook rejects fairlead.dev/paused %j exactly when the manager reports it",
  (value) => {
    const object = { ...annotated(value), spec: { type: "LoadBalancer" } };
    const { refusal } = admitService(
      { operation: "CREATE", object, oldObject: undefined },
      { prefix: "lb.example/", fields: {} },
      servesWithoutClass,
    );
    expect(refusal !== undefined).toBe(pauseOf(annotated(value)).problem !== undefined);
  },
);
