import { expect, test } from "bun:test";
import { ServiceRecords } from "../../../../src/controllers/service/state/service-records.ts";
import { EndpointNodes } from "../../../../src/controllers/service/targets/endpoint-nodes.ts";
import { seconds } from "../../../../src/core/brand.ts";
import type { EndpointSlice, Service } from "../../../../src/kube/objects.ts";
import { Store } from "../../../../src/kube/watch/store.ts";
import { abortable } from "../../../../src/runtime/abortable.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";

// The watch of EndpointSlices, which the sessions of one Lease share.

const web = { metadata: { name: "web", namespace: "default", uid: "web" }, spec: {} } as Service;

function setUp() {
  const clock = new VirtualClock();
  const records = new ServiceRecords();
  let opened = 0;
  let open = 0;
  const endpoints = new EndpointNodes({
    clock,
    openSlices: () => {
      opened += 1;
      open += 1;
      const store = new Store<EndpointSlice>();
      const run = async (signal: AbortSignal): Promise<void> => {
        await abortable(new Promise<void>(() => undefined), signal)
          .catch(() => undefined)
          .finally(() => {
            open -= 1;
          });
      };
      return { store, run };
    },
  });
  const pass = () => clock.advance(seconds(1));
  return { records, endpoints, pass, watches: () => ({ opened, open }) };
}

test("a leadership session reuses the EndpointSlice watch of the session directly before it", async () => {
  const { records, endpoints, pass, watches } = setUp();
  const state = records.manage(web);
  const lease = new AbortController();
  const running = endpoints.run(lease.signal);
  for (let session = 0; session < 2; session += 1) {
    const end = endpoints.subscribe(() => undefined);
    records.beginSession({ hasOtherLed: false });
    endpoints.nodesOf(state);
    await pass();
    end();
    await pass();
  }
  expect(watches()).toEqual({ opened: 1, open: 1 });
  lease.abort();
  await running;
  expect(watches()).toEqual({ opened: 1, open: 0 });
});

test("closes the watch of EndpointSlices when no Service needs it", async () => {
  const { records, endpoints, pass, watches } = setUp();
  const state = records.manage(web);
  const lease = new AbortController();
  const running = endpoints.run(lease.signal);
  endpoints.nodesOf(state);
  await pass();
  records.leave("default/web");
  await pass();
  expect(watches()).toEqual({ opened: 1, open: 0 });
  lease.abort();
  await running;
});
