/** `watchdog-worker.ts` and all that it imports, as JavaScript. Written by `scripts/inline-watchdog.ts`. */
export const WATCHDOG_WORKER_SOURCE = `
import { openSync, writeSync } from "node:fs";
import { constants, setPriority, uptime } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
// packages/core/src/ports/suspension.ts
const REREAD_MS = 10;
const WALL_SLACK_MS = 3;
const MAX_CALLS_PER_LOOK = 64;
var SuspensionMeter = class {
	#sources;
	#aheadMs = Number.NEGATIVE_INFINITY;
	#readAt = Number.NEGATIVE_INFINITY;
	#wallAheadMs = 0;
	#wallAt = NaN;
	#callsLeft = 0;
	constructor(sources) {
		this.#sources = sources;
	}
	aheadMs() {
		const wallNow = this.#sources.wall();
		if (wallNow === this.#wallAt && this.#callsLeft-- > 0) return this.#aheadMs;
		this.#look(wallNow);
		return this.#aheadMs;
	}
	#look(wallNow) {
		const now = this.#sources.monotonic();
		const drift = wallNow - now - this.#wallAheadMs;
		if (now - this.#readAt >= REREAD_MS || drift > WALL_SLACK_MS || drift < -3) this.#read();
		this.#wallAt = wallNow;
		this.#callsLeft = MAX_CALLS_PER_LOOK;
	}
	settle() {
		const { monotonic } = this.#sources;
		for (const until = monotonic() + 20; monotonic() < until;) this.#read();
	}
	#read() {
		const { monotonic, boot, wall } = this.#sources;
		const bootTime = boot();
		const now = monotonic();
		this.#aheadMs = Math.max(this.#aheadMs, bootTime - now);
		this.#wallAheadMs = wall() - now;
		this.#readAt = now;
	}
};
const { hrtime } = process;
const wallTime = Date.now;
const machineSuspension = hasBootClock() ? systemMeter() : void 0;
function systemMeter() {
	return new SuspensionMeter({
		monotonic: () => Number(hrtime.bigint()) / 1e6,
		boot: bootTime,
		wall: () => wallTime()
	});
}
function hasBootClock() {
	return (process.platform === "linux" || process.platform === "android") && bootTime() > 0;
}
function bootTime() {
	try {
		return uptime() * 1e3;
	} catch {
		return Number.NEGATIVE_INFINITY;
	}
}
// packages/core/src/watchdog/deadline-board.ts
var DeadlineBoard = class {
	memory;
	#cells;
	constructor(from) {
		const bytes = BigInt64Array.BYTES_PER_ELEMENT;
		this.memory = typeof from === "number" ? new SharedArrayBuffer((FIRST + from) * bytes) : from;
		this.#cells = new BigInt64Array(this.memory);
		if (typeof from === "number") Atomics.store(this.#cells, AHEAD, UNKNOWN);
	}
	get size() {
		return this.#cells.length - FIRST;
	}
	now() {
		const aheadNs = BigInt(Math.floor((machineSuspension?.aheadMs() ?? 0) * 1e6));
		for (let known = Atomics.load(this.#cells, AHEAD); aheadNs > known;) {
			Atomics.compareExchange(this.#cells, AHEAD, known, aheadNs);
			known = Atomics.load(this.#cells, AHEAD);
		}
		return process.hrtime.bigint() + Atomics.load(this.#cells, AHEAD);
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
const [BELL, CLOSED, AHEAD, FIRST] = [
	0,
	1,
	2,
	3
];
const UNKNOWN = -(2n ** 63n);
// packages/core/src/watchdog/watchdog-worker.ts
const LONGEST_WAIT_MS = machineSuspension === void 0 ? Number.POSITIVE_INFINITY : 100;
const { memory, names, markerFile } = workerData;
const board = new DeadlineBoard(memory);
const marker = markerFile === void 0 ? void 0 : openSync(markerFile, "w", 384);
hurry();
machineSuspension?.settle();
board.now();
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
		const remaining = next.deadline - board.now();
		if (remaining > 0n) board.wait(rings, Math.min(Number(remaining) / 1e6, LONGEST_WAIT_MS));
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
