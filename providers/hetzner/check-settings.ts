// Checks of the settings that involve several of them. Pure.

import { type ConfigProblem, quotedUrl, type Values } from "#ccm";
import { config, namesWithoutEffect } from "./settings.ts";

type Settings = Values<typeof config>;

const envOf = (name: keyof typeof config): string => config[name].env ?? name;

export function checkSettings(settings: Settings): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const error = (key: keyof Settings & string, text: string) =>
    problems.push({ severity: "error", reason: "InvalidSetting", key, text });
  const warn = (key: keyof Settings & string, text: string) =>
    problems.push({ severity: "warning", reason: "InvalidSetting", key, text });

  const { token, network } = settings;
  if (token === undefined && settings["token-file"] === undefined) {
    error("token", "HCLOUD_TOKEN or HCLOUD_TOKEN_FILE is required: the API token of the project");
  } else if (token !== undefined && token.reveal().length !== 64) {
    const length = token.reveal().length;
    warn("token", `HCLOUD_TOKEN has ${length} characters, but tokens have 64. It is used as it is`);
  }
  if (token !== undefined && settings["token-file"] !== undefined) {
    error("token-file", "HCLOUD_TOKEN and HCLOUD_TOKEN_FILE are both set. Remove one of them");
  }
  for (const key of ["endpoint", "robot-endpoint"] as const) {
    const url = settings[key];
    if (url === undefined || URL.canParse(url)) continue;
    error(key, `${envOf(key)} must be a URL, got ${quotedUrl(url)}`);
  }
  if (
    settings["load-balancers-location"] !== undefined &&
    settings["load-balancers-network-zone"] !== undefined
  ) {
    error(
      "load-balancers-location",
      "HCLOUD_LOAD_BALANCERS_LOCATION and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE are both set. Remove one of them",
    );
  }
  if (settings["load-balancers-use-private-ip"] && network === undefined) {
    warn(
      "load-balancers-use-private-ip",
      "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP requires HCLOUD_NETWORK, which is not set. Load balancers get no targets",
    );
  }
  if (settings["robot-enabled"]) problems.push(...checkRobot(settings));
  for (const name of namesWithoutEffect) {
    if (settings[name] === undefined) continue;
    warn(name, `${envOf(name)} is ignored. ${config[name].text}`);
  }
  return problems;
}

/** Whether the credentials of the Robot web service are set. */
export function hasRobotAccess(
  settings: Pick<Settings, "robot-enabled" | "robot-user" | "robot-user-file">,
): boolean {
  const hasUser = settings["robot-user"] !== undefined || settings["robot-user-file"] !== undefined;
  return settings["robot-enabled"] && hasUser;
}

function checkRobot(settings: Settings): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const error = (key: string, text: string) =>
    problems.push({ severity: "error", reason: "InvalidSetting", key, text });
  const hasUser = hasRobotAccess(settings);
  const hasPassword =
    settings["robot-password"] !== undefined || settings["robot-password-file"] !== undefined;
  if (hasUser !== hasPassword) {
    error("robot-user", "ROBOT_USER and ROBOT_PASSWORD must be set together, or neither of them");
  }
  if (!hasUser && !hasPassword) {
    problems.push({
      severity: "warning",
      reason: "InvalidSetting",
      key: "robot-user",
      text: "Robot support is enabled without credentials. Nodes of dedicated servers are neither initialized nor deleted, and are targets of load balancers only with use-private-ip, by their InternalIP. To manage them, set ROBOT_USER and ROBOT_PASSWORD",
    });
  }
  if (settings.network !== undefined && settings["network-routes-enabled"]) {
    error(
      "robot-enabled",
      "ROBOT_ENABLED cannot be combined with routes in HCLOUD_NETWORK. Set HCLOUD_NETWORK_ROUTES_ENABLED=false",
    );
  }
  return problems;
}
