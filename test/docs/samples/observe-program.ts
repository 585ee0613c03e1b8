import { subscribe } from 'node:diagnostics_channel'
import { Server } from 'node:net'

/*
 * Loaded into the process of a sample before its program. Reports what the parent waits for, and gives servers free ports, so that
 * samples with fixed ports can run beside anything else.
 */

/** What the process of a sample reports. */
export type ProgramReport = { readonly kind: 'leads' } | { readonly kind: 'failed'; readonly text: string }

/** A program that leads gets this long for its first round before the signal. */
const FIRST_ROUND_MS = 200

const report = (message: ProgramReport): void => void process.send?.(message)

subscribe('tenure:term-began', () => void setTimeout(reportLeader, FIRST_ROUND_MS))
for (const name of ['tenure:controller-failed', 'tenure:wedged']) {
  subscribe(name, (event) => report({ kind: 'failed', text: `${name}: ${JSON.stringify(event)}` }))
}

/** A test that runs terms handles no signal and ends by itself. */
function reportLeader(): void {
  if (process.listenerCount('SIGTERM') > 0) report({ kind: 'leads' })
}

const listen = Reflect.get(Server.prototype, 'listen') as (...args: unknown[]) => Server
Reflect.set(Server.prototype, 'listen', function listenOnFreePort(this: Server, first: unknown, ...rest: unknown[]) {
  return listen.call(this, withFreePort(first), ...rest)
})

function withFreePort(first: unknown): unknown {
  if (typeof first === 'number') return 0
  return typeof first === 'object' && first !== null && 'port' in first ? { ...first, port: 0 } : first
}
