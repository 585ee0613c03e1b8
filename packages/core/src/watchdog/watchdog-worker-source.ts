/** `watchdog-worker.ts` and all that it imports, as JavaScript. Written by `scripts/inline-watchdog.ts`. */
export const WATCHDOG_WORKER_SOURCE = `
import { openSync, writeSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
// packages/core/src/watchdog/deadline-board.ts
var DeadlineBoard = class {
	memory;
	#cells;
	constructor(from) {
		const bytes = BigInt64Array.BYTES_PER_ELEMENT;
		this.memory = typeof from === "number" ? new SharedArrayBuffer((FIRST + from) * bytes) : from;
		this.#cells = new BigInt64Array(this.memory);
	}
	get size() {
		return this.#cells.length - FIRST;
	}
	set(index, deadline) {
		return Atomics.exchange(this.#cells, FIRST + index, deadline);
	}
	claim(index, deadline) {
		return Atomics.compareExchange(this.#cells, FIRST + index, deadline, 0n) === deadline;
	}
	earliest() {
		let found;
		for (let index = 0; index < this.size; index++) {
			const deadline = Atomics.load(this.#cells, FIRST + index);
			if (deadline !== 0n && (found === void 0 || deadline < found.deadline)) found = {
				index,
				deadline
			};
		}
		return found;
	}
	ring() {
		Atomics.add(this.#cells, BELL, 1n);
		Atomics.notify(this.#cells, BELL);
	}
	close() {
		Atomics.store(this.#cells, CLOSED, 1n);
		this.ring();
	}
	get isClosed() {
		return Atomics.load(this.#cells, CLOSED) === 1n;
	}
	get rings() {
		return Atomics.load(this.#cells, BELL);
	}
	wait(rings, timeoutMs = Number.POSITIVE_INFINITY) {
		Atomics.wait(this.#cells, BELL, rings, timeoutMs);
	}
};
const [BELL, CLOSED, FIRST] = [
	0,
	1,
	2
];
// packages/core/src/watchdog/watchdog-worker.ts
const { memory, names, markerFile } = workerData;
const board = new DeadlineBoard(memory);
const marker = markerFile === void 0 ? void 0 : openSync(markerFile, "w", 384);
hurry();
parentPort?.postMessage("watching", []);
watch();
function hurry() {
	if (process.platform !== "linux") return;
	try {
		setPriority(constants.priority.PRIORITY_HIGHEST);
	} catch {}
}
function watch() {
	while (!board.isClosed) {
		const { rings } = board;
		const next = board.earliest();
		if (next === void 0) {
			board.wait(rings);
			continue;
		}
		const remaining = next.deadline - process.hrtime.bigint();
		if (remaining > 0n) board.wait(rings, Number(remaining) / 1e6);
		else if (board.claim(next.index, next.deadline)) kill(names[next.index] ?? "", -remaining);
	}
}
function kill(name, overdue) {
	if (marker !== void 0) {
		const text = {
			name,
			pid: process.pid,
			overdueMs: Number(overdue) / 1e6,
			firedAt: new Date().toISOString()
		};
		try {
			writeSync(marker, JSON.stringify(text));
		} catch {}
	}
	process.kill(process.pid, "SIGKILL");
}
export {};
`
