import type { ApiRequestError } from '../client/api-request-error.ts'
import type { ApiRequest } from '../client/api-request.ts'
import type { WatchEvent } from './watch-event.ts'

/** Supplies the requests of a reflector and receives what they return. */
export interface ReflectorFeed {
  /** The bound on the time until the server answers a watch, in milliseconds. */
  openTimeoutMs(): number
  /** Requests a complete list. */
  list(signal: AbortSignal): Promise<ReflectedList>
  /** The request of a watch from a version on. */
  watch(version: string, signal: AbortSignal): ApiRequest
  /** Whether the store went back to before `version`, so that the reflector must list again. Called before a watch after a failure. */
  wentBack(version: string, signal: AbortSignal): Promise<boolean>
  /** The server answered the watch. Returns the guard of the stream. */
  opened(context: StreamContext): StreamGuard
  /** Receives one event, in the order of the stream. @throws WatchInterruptedError for an event that it cannot use */
  take(event: WatchEvent): void
  /** The first stream after a failure has lasted for a second. */
  recovered(): void
  /** Whether this answer means that a watch from the same version cannot succeed. */
  needsList(refusal: ApiRequestError): boolean
  /** Resolves with true if the feed has handled the refusal, so that the reflector neither reports it nor pauses. */
  handles(refusal: ApiRequestError): Promise<boolean>
  /** A list or a watch failed. The reflector tries again. */
  failed(failure: Error): void
}

/** A complete list. */
export interface ReflectedList {
  /** The watch starts at this version. */
  readonly version: string
  /** Applies the list. */
  readonly accept: () => void
}

/** An open stream. */
export interface StreamContext {
  /** Aborts when the stream ends. */
  readonly signal: AbortSignal
  /** Whether the connection was lost before, so that the store may have been restored from a backup meanwhile. */
  readonly isInDoubt: boolean
  /** Ends the stream as a failure. */
  readonly lost: (cause: Error) => void
}

/** Detects that a stream is dead. */
export interface StreamGuard {
  /** Data arrived. */
  heard(): void
  /** The stream ended. */
  stop(): void
}
