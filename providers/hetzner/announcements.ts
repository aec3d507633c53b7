// Announcements of the API about servers and load balancers: deprecated types and images in use, and unknown values.

import { type Context, knownValues, lookedAt } from "#ccm";
import type { ApiDeprecation, ApiLoadBalancer, ApiServer } from "./resources.ts";

const dayOf = (time: string): string => time.slice(0, 10);

export function announcements(announce: Context["announce"]) {
  const known = (field: string, ...values: readonly string[]) => knownValues(announce, field, values);
  const checkServer = known(
    "server.status",
    ...["running", "initializing", "starting", "stopping", "off", "deleting", "migrating", "rebuilding"],
    "unknown",
  );
  const checkTarget = known("load_balancer.targets[].type", "server", "ip", "label_selector");
  const checkHealth = known(
    "load_balancer.targets[].health_status[].status",
    ...["healthy", "unhealthy", "unknown"],
  );
  const deprecated = (what: "type" | "image", name: string, end: string | undefined): void =>
    announce({ what, name, text: end === undefined ? "" : `unavailable after ${dayOf(end)}` });
  return {
    server: lookedAt<ApiServer>(announce, "server", ({ status, server_type: type, location, image }) => {
      checkServer(status);
      const here = type.locations?.find(({ name }) => name === location.name);
      const found: ApiDeprecation | null | undefined = here?.deprecation ?? type.deprecation;
      if (found) deprecated("type", `server type ${type.name}`, found.unavailable_after);
      if (image?.deprecated) deprecated("image", `image ${image.name ?? image.id}`, undefined);
    }),
    balancer: lookedAt<ApiLoadBalancer>(
      announce,
      "load_balancer",
      ({ load_balancer_type: type, targets }) => {
        if (type.deprecated) deprecated("type", `load balancer type ${type.name}`, undefined);
        for (const target of targets) {
          checkTarget(target.type);
          for (const { status } of target.health_status ?? []) checkHealth(status);
        }
      },
    ),
  };
}
