// Looks over the cloud's shoulder: which orders came, for which object, and a moment in the middle of one at which a test
// strikes. It answers nothing itself.

import type { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";

export interface Order {
  readonly method: string;
  /** As in "/balancers/b7". */
  readonly path: string;
}

export interface WatchedCloud {
  /** Everything that changes the cloud, in the order it came. */
  readonly orders: readonly Order[];
  /** Called once, in the middle of the order that is so many after this moment: it is carried out, its answer not read. */
  strikeAt(ordersFromNow: number, strike: () => void): void;
}

export const watchCloud = (cloud: FakeCloud): WatchedCloud => {
  const orders: Order[] = [];
  const strikes = new Map<number, () => void>();
  const handle = cloud.handle.bind(cloud);
  cloud.handle = (question, token) => {
    const delivery = handle(question, token);
    if (question.method !== "GET") {
      orders.push({ method: question.method, path: question.path });
      strikes.get(orders.length)?.();
    }
    return delivery;
  };
  return {
    orders,
    strikeAt: (ordersFromNow, strike) => void strikes.set(orders.length + ordersFromNow, strike),
  };
};
