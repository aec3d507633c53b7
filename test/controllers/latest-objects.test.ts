import { describe, expect, test } from "bun:test";
import { LatestObjects } from "../../src/controllers/latest-objects.ts";
import type { KubeObject } from "../../src/kube/objects.ts";
import { Store } from "../../src/kube/watch/store.ts";

const object = (resourceVersion: string): KubeObject => ({
  metadata: { name: "a", uid: "uid-a", resourceVersion },
});

/** The cache has version 5, and a write returned version 7. */
const setUp = () => {
  const store = new Store<KubeObject>();
  const list = (resourceVersion: string, duringList: () => void = () => undefined): void => {
    store.apply({ type: "begin" });
    store.apply({ type: "object", object: object(resourceVersion), initial: true });
    duringList();
    store.apply({ type: "complete", resourceVersion });
  };
  list("5");
  const latest = new LatestObjects(store);
  const changes: string[] = [];
  latest.subscribe(({ before, after }) =>
    changes.push(`${before?.metadata.resourceVersion}>${after?.metadata.resourceVersion}`),
  );
  const write = (): void => latest.remember(object("7"));
  const version = (): string | undefined => latest.get("a")?.metadata.resourceVersion;
  return { store, list, changes, write, version };
};

describe("the newest version of an object", () => {
  test("the newest version is the version of Fairlead's write until the watch delivers that version", () => {
    const { store, write, version } = setUp();
    write();
    store.apply({ type: "object", object: object("6"), initial: false });
    expect(version()).toBe("7");
    store.apply({ type: "object", object: object("8"), initial: false });
    expect(version()).toBe("8");
  });

  test.each(["3", "5"])(
    "the newest version is from a complete list that began after Fairlead's write, even if that version is %s [N23]",
    (listed) => {
      const { list, changes, write, version } = setUp();
      write();
      list(listed);
      expect(version()).toBe(listed);
      expect(changes).toContain(`7>${listed}`);
    },
  );

  test("during a list, the newest version is the version of Fairlead's write, because the list may be older [N23]", () => {
    const { list, write, version } = setUp();
    list("6", write);
    expect(version()).toBe("7");
    list("6");
    expect(version()).toBe("6");
  });
});
