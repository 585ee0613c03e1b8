import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { unauthorized } from '../objects/api-status.ts'

/** Who sends a request. */
export interface ApiUser {
  readonly name: string
  /** `system:masters` may do everything. */
  readonly groups?: readonly string[]
}

/** A user who shows a bearer token. */
export interface TokenUser extends ApiUser {
  readonly token: string
}

/** A user as authorization sees it. */
export interface AuthenticatedUser {
  readonly name: string
  readonly groups: readonly string[]
}

/** The group that may do everything. */
export const ADMIN_GROUP = 'system:masters'

/** The user of a request without credentials. */
export const ANONYMOUS: AuthenticatedUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** Identifies the sender of a request by bearer token or client certificate. CN is the name of the user, O are the groups. */
export class Authenticator {
  readonly #tokens = new Map<string, AuthenticatedUser>()
  readonly #bySocket = new WeakMap<TLSSocket, AuthenticatedUser | undefined>()

  /** Accepts a token from now on. */
  addToken(user: TokenUser): void {
    this.#tokens.set(user.token, authenticated(user))
  }

  /** @throws ApiStatusError 401 for unknown credentials */
  authenticate(request: IncomingMessage): AuthenticatedUser {
    const authorization = request.headers.authorization
    if (authorization !== undefined) {
      const user = this.#tokens.get(/^Bearer\s+(\S+)$/i.exec(authorization)?.[1] ?? '')
      if (user === undefined) throw unauthorized()
      return user
    }
    return this.#certified(request) ?? ANONYMOUS
  }

  #certified(request: IncomingMessage): AuthenticatedUser | undefined {
    const { socket } = request
    if (!(socket instanceof TLSSocket)) return undefined
    if (!this.#bySocket.has(socket)) this.#bySocket.set(socket, readCertificate(socket))
    return this.#bySocket.get(socket)
  }
}

/** @throws ApiStatusError 401 for a certificate of another authority */
function readCertificate(socket: TLSSocket): AuthenticatedUser | undefined {
  const { subject } = socket.getPeerCertificate()
  // Without a certificate, Node returns an empty object, contrary to its type.
  if ((subject as unknown) === undefined) return undefined
  if (!socket.authorized) throw unauthorized()
  return authenticated({ name: oneOf(subject.CN), groups: allOf(subject.O) })
}

function authenticated(user: ApiUser): AuthenticatedUser {
  return { name: user.name, groups: [...(user.groups ?? []), 'system:authenticated'] }
}

function oneOf(attribute: string | string[] | undefined): string {
  return allOf(attribute)[0] ?? ''
}

/** Node returns an attribute that the subject repeats as a list. */
function allOf(attribute: string | string[] | undefined): string[] {
  return attribute === undefined ? [] : [attribute].flat()
}
