import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { locateProgram } from './build.ts'
import { freePorts } from './free-ports.ts'
import { OrphanGuard } from './orphan-guard.ts'
import { startServer, type StartedServer } from './start-server.ts'

/** A fault on a connection, as https://github.com/Shopify/toxiproxy#toxics describes them. */
export interface Toxic {
  readonly type: 'latency' | 'down' | 'bandwidth' | 'slow_close' | 'timeout' | 'reset_peer' | 'slicer' | 'limit_data'
  /** Towards the client, or towards the server. @default 'downstream' */
  readonly stream?: 'downstream' | 'upstream'
  readonly attributes: Readonly<Record<string, number>>
}

/** Starts a toxiproxy. @throws Error when it does not start. */
export async function startToxiproxy(): Promise<Toxiproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-toxiproxy-'))
  const guard = OrphanGuard.start(folder)
  try {
    return new Toxiproxy(await start(guard), guard)
  } catch (error) {
    guard.close()
    throw error
  }
}

async function start(guard: OrphanGuard): Promise<StartedServer> {
  return await startServer({
    name: 'toxiproxy',
    file: await locateProgram('toxiproxy'),
    guard,
    ports: 1,
    args: ([port]) => ['-host=127.0.0.1', `-port=${port}`],
    isReady: async ([port]) => (await fetch(`http://127.0.0.1:${port}/version`)).ok,
  })
}

/** TCP proxies on loopback ports, each of which can be made to misbehave while connections are open. */
export class Toxiproxy implements AsyncDisposable {
  readonly #server: StartedServer
  readonly #guard: OrphanGuard

  /** Use {@link startToxiproxy}. */
  constructor(server: StartedServer, guard: OrphanGuard) {
    this.#server = server
    this.#guard = guard
  }

  /** Puts a proxy in front of a loopback port and returns the port on which it listens. */
  async createProxy(name: string, upstreamPort: number): Promise<number> {
    const [port = 0] = await freePorts(1)
    await this.#send('/proxies', { name, listen: `127.0.0.1:${port}`, upstream: `127.0.0.1:${upstreamPort}` })
    return port
  }

  /** Makes a proxy refuse connections and cut those that are open, or serve again. */
  async setEnabled(name: string, enabled: boolean): Promise<void> {
    await this.#send(`/proxies/${name}`, { enabled })
  }

  /** Adds a fault to a proxy. */
  async addToxic(name: string, toxic: Toxic): Promise<void> {
    await this.#send(`/proxies/${name}/toxics`, toxic)
  }

  /** Removes every fault of a proxy. Connections that it has spoiled already stay as they are. */
  async removeToxics(name: string): Promise<void> {
    const { toxics } = (await this.#request('GET', `/proxies/${name}`)) as {
      readonly toxics: readonly { readonly name: string }[]
    }
    for (const toxic of toxics) await this.#request('DELETE', `/proxies/${name}/toxics/${toxic.name}`)
  }

  /** Removes every fault of every proxy, and enables them. */
  async reset(): Promise<void> {
    await this.#send('/reset')
  }

  async stop(): Promise<void> {
    await this.#server.process.stop()
    this.#guard.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #send(path: string, body: object = {}): Promise<void> {
    await this.#request('POST', path, JSON.stringify(body))
  }

  async #request(method: string, path: string, body?: string): Promise<unknown> {
    // A connection for every request: toxiproxy closes idle ones, perhaps at the moment at which one is used again.
    const sent = request(`http://127.0.0.1:${this.#server.ports[0]}${path}`, { method, agent: false })
    sent.end(body)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const content = await text(answer)
    const { statusCode = 0 } = answer
    if (statusCode >= 300) throw new Error(`Expected ${method} ${path} to succeed, got ${statusCode}: ${content}`)
    return content === '' ? undefined : JSON.parse(content)
  }
}
