import { fastify } from 'fastify'

/**
 * Returns fastify, which is loaded with this module.
 *
 * `#fastify` in `package.json` is this module in bundles and on runtimes other than Node. On Node it is `fastify-on-demand.ts`, whose
 * code no bundler could follow.
 */
export function loadFastify(): typeof fastify {
  return fastify
}
