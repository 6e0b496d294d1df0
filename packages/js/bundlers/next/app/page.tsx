"use client";
import { useEffect, useState } from "react";
import { object, room, vector } from "samovar";

const Dot = object("dot", { at: vector(2, [0, 9999], { precision: 1 }) });
const game = room({ game: "dots", version: 1, objects: [Dot] });

export default function Page() {
  const [dots, setDots] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    const play = async () => {
      const r = await game.joinOrCreate(location.hash.slice(1), { name: "Ann", signal: stop.signal });
      stop.signal.addEventListener("abort", () => void r.leave());
      location.hash = r.code;
      const mine = r.own(Dot, { at: [0, 0] });
      onpointermove = (event) => (mine.at = [event.x, event.y]);
      r.frame(() => setDots(r.all(Dot).map(({ at }) => `(${at})`).join(" ")));
    };
    play().catch((why: Error) => stop.signal.aborted || setDots(why.message));
    return () => stop.abort();
  }, []);
  return <main>{dots}</main>;
}
