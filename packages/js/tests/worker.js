// A room in a worker. It tells the page what it sees.

import { int, object, room } from "../samovar/index.js";

const Count = object("count", { value: int([0, 1000]) });
const statuses = [];
const r = await room({ game: "worker", version: 1, objects: [Count] }).create({
  name: "Worker",
  status: (text) => statuses.push(text),
});
const mine = r.own(Count, { value: 0 });
let frames = 0;
r.frame(() => (mine.value = ++frames));
onmessage = async () => {
  await r.leave();
  postMessage({ left: true });
};
postMessage({ code: r.code, statuses });
