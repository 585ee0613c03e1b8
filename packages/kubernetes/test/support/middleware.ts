import { Observable, type RequestContext, type ResponseContext } from '@kubernetes/client-node'

/** A middleware that does something to each request before it is sent. */
export const middleware = (pre: (request: RequestContext) => void) => ({
  pre: (request: RequestContext) => {
    pre(request)
    return new Observable(Promise.resolve(request))
  },
  post: (response: ResponseContext) => new Observable(Promise.resolve(response)),
})
