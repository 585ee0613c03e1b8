import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { sameConnection, type ConnectionSettings } from './connection-settings.ts'

/** How long an idle connection is quiet before the kernel probes it; ten unanswered probes, one a second, end it. */
const TCP_KEEP_ALIVE_MS = 1000

/** As many connections as lie idle at most. The server closes a connection that is idle for a while. */
const MAX_IDLE_SOCKETS = 32

/** As many connections as there are at most. */
const MAX_SOCKETS = 32

/** A place to send requests to. Held for as long as a request lasts. */
export interface PooledAgent {
  readonly agent: http.Agent
  /** Registers the connection that the request got, so that closing the pool can wait for its end. */
  track(socket: Socket): void
  /** After a broken connection the idle ones are not trusted either: the path that broke is theirs too. */
  release(connection: 'sound' | 'broken'): void
}

interface Generation {
  readonly settings: ConnectionSettings
  readonly agent: http.Agent
  users: number
}

/**
 * The kept-alive connections of one transport, shared with nobody.
 *
 * Connections are made with the TLS material of the settings. When that changes, new requests get new connections, and the old
 * ones go as soon as no request uses them.
 */
export class ConnectionPool {
  #current: Generation | undefined
  readonly #retired = new Set<Generation>()
  readonly #sockets = new Set<Socket>()

  acquire(settings: ConnectionSettings): PooledAgent {
    const generation = this.#generationFor(settings)
    generation.users++
    return {
      agent: generation.agent,
      track: (socket) => this.#track(socket),
      release: (connection) => {
        generation.users--
        if (connection === 'broken') destroyIdle(generation.agent)
        this.#sweep()
      },
    }
  }

  /** Destroys every connection, also those in use, and resolves when they are gone. */
  async close(): Promise<void> {
    const generations = [...this.#retired, ...(this.#current === undefined ? [] : [this.#current])]
    for (const { agent } of generations) {
      for (const socket of [...socketsOf(agent.sockets), ...socketsOf(agent.freeSockets)]) this.#track(socket)
      agent.destroy()
    }
    await Promise.all([...this.#sockets].map(gone))
  }

  #generationFor(settings: ConnectionSettings): Generation {
    if (this.#current !== undefined && sameConnection(this.#current.settings, settings)) return this.#current
    if (this.#current !== undefined) this.#retired.add(this.#current)
    this.#current = { settings, agent: createAgent(settings), users: 0 }
    this.#sweep()
    return this.#current
  }

  #sweep(): void {
    for (const generation of this.#retired) {
      if (generation.users > 0) continue
      generation.agent.destroy()
      this.#retired.delete(generation)
    }
  }

  #track(socket: Socket): void {
    if (this.#sockets.has(socket) || socket.closed) return
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

function createAgent(settings: ConnectionSettings): http.Agent {
  if (settings.proxyAgent !== undefined) return keptAlive(settings.proxyAgent)
  const options = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxFreeSockets: MAX_IDLE_SOCKETS,
    maxSockets: MAX_SOCKETS,
    noDelay: true,
  }
  return settings.server.protocol === 'http:'
    ? new http.Agent(options)
    : new SingleServerAgent({ ...options, ...settings.tls })
}

/** Node names a pool of connections after all that they are made with, certificates and keys included, several times a request. */
class SingleServerAgent extends https.Agent {
  override getName(): string {
    return 'one server, one set of credentials'
  }
}

/** client-node makes its proxy agents without keep-alive; Node reads the switch on every request. */
function keptAlive(agent: http.Agent): http.Agent {
  return Object.assign(agent, {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxFreeSockets: MAX_IDLE_SOCKETS,
    maxSockets: MAX_SOCKETS,
  })
}

function destroyIdle(agent: http.Agent): void {
  for (const socket of socketsOf(agent.freeSockets)) socket.destroy()
}

function socketsOf(byOrigin: http.Agent['sockets']): Socket[] {
  return Object.values(byOrigin).flatMap((sockets) => sockets ?? [])
}

async function gone(socket: Socket): Promise<void> {
  if (socket.closed) return
  await new Promise<void>((resolve) => socket.once('close', () => resolve()).destroy())
}
