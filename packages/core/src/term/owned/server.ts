import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ListenOptions, Server, Socket } from 'node:net'
import { errorOf } from '../../error-of.ts'
import { OptionsError } from '../../options/options-error.ts'
import { guardEvents } from './guard-events.ts'
import { onAbort } from '../../on-abort.ts'
import type { Owner } from './owner.ts'

/** A server and the options of `listen()`. */
export interface Serving<S extends Server> {
  readonly server: S
  readonly listen: ListenOptions
}

/**
 * Makes a server listen and resolves when it does. The task lasts until the server has closed. When the term begins to end, the server
 * accepts no more connections and closes connections as they become idle. The hard abort destroys the others.
 */
export function serve<S extends Server>(owner: Owner, name: string, { server, listen }: Serving<S>): Promise<S> {
  assertServer(server)
  owner.assertOpen(`serve ${name}`)
  const listening = Promise.withResolvers<S>()
  const own = new OwnedServer(server, owner)
  owner
    .track(`serve ${name}`, async (task) => {
      const failure = await own.listen(listen)
      if (failure !== undefined) {
        own.forget()
        return listening.reject(failure)
      }
      const forgetStop = onAbort(owner.signal, () => own.close())
      const forgetKill = onAbort(owner.hardSignal, () => own.destroyConnections())
      if (owner.signal.aborted) listening.reject(owner.signal.reason)
      else listening.resolve(server)
      task.waitsOn = `\`${name}\` to close`
      try {
        await own.closed()
      } catch (error) {
        own.close()
        own.destroyConnections()
        throw error
      } finally {
        forgetStop()
        forgetKill()
        own.forget()
      }
    })
    .catch(() => {})
  return listening.promise
}

function assertServer(server: unknown): void {
  const methods = ['on', 'listen', 'close']
  const isServer =
    typeof server === 'object' &&
    server !== null &&
    methods.every((method) => typeof Reflect.get(server, method) === 'function')
  if (isServer) return
  throw OptionsError.expected(
    '`server` of `term.serve(name, server, listen)` to be a server of `node:net` or a relative',
    server,
  )
}

/** An `import` of `node:http` would read all its exports, one of which loads Node's undici: 7 MB in every process. */
function isHttpServer(server: Server): boolean {
  const { Server: HttpServer } = process.getBuiltinModule('node:http')
  const { Server: HttpsServer } = process.getBuiltinModule('node:https')
  return server instanceof HttpServer || server instanceof HttpsServer
}

/** A server and its open connections. */
class OwnedServer {
  readonly #server: Server
  readonly #owner: Owner
  readonly #forgetGuard: () => void
  readonly #sockets = new Set<Socket>()
  readonly #closed = Promise.withResolvers<void>()

  constructor(server: Server, owner: Owner) {
    this.#server = server
    this.#owner = owner
    this.#forgetGuard = guardEvents(owner, server)
    server.on('connection', this.#onConnection)
    // A listener for `request` would switch an HTTP/2 server to its compatibility API.
    if (isHttpServer(server)) server.on('request', this.#onRequest)
    server.on('close', this.#closed.resolve)
  }

  /** Resolves with the error if the server cannot listen, and with undefined when it listens. */
  async listen(options: ListenOptions): Promise<Error | undefined> {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>()
    const onListening = (): void => resolve(undefined)
    this.#server.once('error', resolve)
    this.#server.once('listening', onListening)
    try {
      this.#server.listen(options)
    } catch (error) {
      // The options are wrong, or the server already listens.
      resolve(errorOf(error))
    }
    const failure = await promise
    this.#server.off('error', resolve)
    this.#server.off('listening', onListening)
    this.#server.on('error', this.#closed.reject)
    return failure
  }

  /** Resolves when the server and its last connection have closed. Rejects when the server has failed. */
  closed(): Promise<void> {
    return this.#closed.promise
  }

  /** Stops listening. Node also closes the idle connections of an HTTP server. */
  close(): void {
    this.#server.close()
  }

  destroyConnections(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Removes every listener. */
  forget(): void {
    this.#forgetGuard()
    this.#server.off('connection', this.#onConnection)
    this.#server.off('request', this.#onRequest)
    this.#server.off('close', this.#closed.resolve)
    this.#server.off('error', this.#closed.reject)
  }

  readonly #onConnection = (socket: Socket): void => {
    this.#sockets.add(socket)
    const forgetGuard = guardEvents(this.#owner, socket)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      forgetGuard()
    })
  }

  /** Closes a connection that becomes idle later. Node would wait for its keep-alive timeout. */
  readonly #onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    guardEvents(this.#owner, request)
    const server: Server & { closeIdleConnections?: () => void } = this.#server
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections?.()
    })
  }
}
