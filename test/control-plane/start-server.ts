import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from './free-ports.ts'
import { ServerProcess, type ServerProcessOptions } from './server-process.ts'

/** A server to start, on ports of its own choice or of ours. */
export interface ServerStart {
  readonly name: string
  readonly file: string
  readonly guard: ServerProcessOptions['guard']
  /** How many free ports it needs; or the ports it has to have, because its clients know them. */
  readonly ports: number | readonly number[]
  readonly args: (ports: readonly number[]) => readonly string[]
  /** Whether it serves on these ports. A rejection means no. */
  readonly isReady: (ports: readonly number[]) => Promise<boolean>
}

/** A server that answers. */
export interface StartedServer {
  readonly process: ServerProcess
  readonly ports: readonly number[]
}

const attempts = 5
const readyTimeoutMs = 60_000
const pollIntervalMs = 50

/**
 * Starts a server and waits until it is ready. If another process takes one of its ports, it tries again with other
 * ports.
 *
 * @throws Error with what the server printed when it ends, or is not ready within a minute.
 */
export async function startServer(start: ServerStart): Promise<StartedServer> {
  for (let attempt = 1; ; attempt += 1) {
    const ports = typeof start.ports === 'number' ? await freePorts(start.ports) : start.ports
    const { name, file, guard } = start
    const process = await ServerProcess.start({ name, file, guard, args: start.args(ports) })
    const failure = await waitUntilReady(process, () => start.isReady(ports))
    if (failure === undefined) return { process, ports }
    await process.stop()
    if (attempt === attempts || !isPortRace(process)) throw new Error(`${failure}\n${process.log}`)
  }
}

async function waitUntilReady(server: ServerProcess, isReady: () => Promise<boolean>): Promise<string | undefined> {
  const deadline = performance.now() + readyTimeoutMs
  while (performance.now() < deadline) {
    if (await isReady().catch(() => false)) return undefined
    if (!server.isRunning) {
      const { code, signal } = await server.exited
      return `${server.name} ended with ${code ?? signal} before it was ready:`
    }
    await sleep(pollIntervalMs)
  }
  return `${server.name} was not ready within ${readyTimeoutMs} ms:`
}

function isPortRace(server: ServerProcess): boolean {
  return server.log.includes('address already in use')
}
