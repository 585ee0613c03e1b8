import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'

/** The page loads nothing but its own files, and sends nothing to anybody else. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The address that a page is served on. */
export const HOST = '127.0.0.1'

/**
 * Answers only requests for this host, so that no web site can reach the server through a name of its own (DNS rebinding), and sets the
 * headers of every answer.
 */
export function guardRequests(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    const { host = '', origin } = request.headers
    const port = request.socket.localPort
    const hosts = [`${HOST}:${port}`, `localhost:${port}`]
    const isOwn = hosts.includes(host) && (origin === undefined || origin === `http://${host}`)
    if (!isOwn) await reply.code(403).type('text/plain').send('This server answers only its own page.\n')
  })
}

/** Whether a secret is this one, in a time that does not depend on it. */
export function isToken(given: unknown, token: string): boolean {
  const [a, b] = [Buffer.from(typeof given === 'string' ? given : ''), Buffer.from(token)]
  return a.length === b.length && timingSafeEqual(a, b)
}
