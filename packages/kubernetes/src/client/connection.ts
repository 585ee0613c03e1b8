import type { ApiTransport } from './api-transport.ts'

/** What sends requests to an API server and opens streams: an {@link ApiTransport}, or what stands for one in a test. */
export type Connection = Pick<ApiTransport, 'send' | 'open' | 'close'>
