import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

// A Service that stops asking for a balancer and loses our finalizer by the same hand: what was said of its end counts.

const onDelete = "fairlead.dev/on-delete";

const retypedAndStripped = async (word: string): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { annotations: { [onDelete]: "release" } });
  await w.pass(30);
  w.annotate("web", { [onDelete]: word });
  await w.pass(5);
  w.edit("web", ({ metadata, spec, ...rest }) => ({
    ...rest,
    spec: { ...spec, type: "ClusterIP" },
    metadata: { ...metadata, finalizers: [] },
  }));
  await w.pass(600);
  return w;
};

test("a balancer that is to be released is so too when its Service is retyped and the finalizer stripped in one", async () => {
  const w = await retypedAndStripped("release");
  expect(w.cloud.balancers.list().map(({ labels }) => labels)).toEqual([{}]);
});

test("a balancer of which nobody knows whether it is to be released stays then too", async () => {
  const w = await retypedAndStripped("keep");
  expect(w.owners()).toEqual([w.get("web").metadata.uid]);
});
