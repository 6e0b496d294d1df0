//! Sends browsers that came by HTTP to HTTPS.

use axum::Router;
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Redirect, Response};

/// The routes of a port for HTTP: each leads to the same path by HTTPS at this port.
pub(crate) fn routes(port: u16) -> Router {
    Router::new().fallback(move |request: Request| async move { answer(&request, port) })
}

fn answer(request: &Request, port: u16) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    let Some(host) = host.filter(|host| !host.as_str().contains('@')) else {
        return (StatusCode::BAD_REQUEST, "the request names no host\n").into_response();
    };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let authority = match port {
        443 => host.host().to_owned(),
        port => format!("{}:{port}", host.host()),
    };
    match Uri::builder().scheme("https").authority(authority).path_and_query(path).build() {
        Ok(uri) => Redirect::temporary(&uri.to_string()).into_response(),
        Err(_) => (StatusCode::BAD_REQUEST, "the request has no address\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::header::LOCATION;

    fn leads(host: Option<&str>, path: &str, port: u16) -> Option<String> {
        let request = Request::builder().uri(path);
        let request = host.into_iter().fold(request, |request, host| request.header(HOST, host));
        let answer = answer(&request.body(Body::empty()).expect("a request"), port);
        Some(answer.headers().get(LOCATION)?.to_str().expect("text").to_owned())
    }

    #[test]
    fn each_address_leads_to_the_same_by_https() {
        let tea = Some("tea.example");
        assert_eq!(leads(tea, "/", 443).as_deref(), Some("https://tea.example/"));
        assert_eq!(leads(tea, "/a/b?c=d", 443).as_deref(), Some("https://tea.example/a/b?c=d"));
        assert_eq!(leads(Some("tea.example:80"), "/", 8443).as_deref(), Some("https://tea.example:8443/"));
        assert_eq!(leads(Some("[::1]:80"), "/x", 443).as_deref(), Some("https://[::1]/x"));
        for host in [None, Some(""), Some("a b"), Some("me@tea.example"), Some("tea.example/x")] {
            assert_eq!(leads(host, "/", 443), None, "{host:?}");
        }
    }
}
