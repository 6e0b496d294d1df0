//! One browser: a program that can be killed, a profile in it, and its tabs.

mod program;
mod spare;

use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::devtools::{Devtools, Event};
use crate::place::Place;
use program::Program;

/// The way in which a browser treats a page that is not visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patience {
    /// The browser treats the hidden page like a visible one.
    #[default]
    Endless,
    /// The browser throttles the hidden page, as it does by default: timers run once a second, and later once a
    /// minute.
    Usual,
}

/// A person's browser: a profile of its own, in a program without any other profile. Dropping it closes the profile at
/// once, with all its tabs; another test may then have the program.
#[derive(Debug)]
pub struct Chromium {
    /// Present until this is dropped.
    program: Option<Program>,
    devtools: Devtools,
    /// The id of the profile in the protocol of DevTools.
    context: String,
}

impl Chromium {
    /// Opens a fresh profile in a browser at this place, with these further flags. It may take a browser that other
    /// tests have finished with, because a start takes two seconds of a processor.
    ///
    /// # Panics
    /// The browser does not start. The message has its output.
    pub async fn launch(place: &Place, patience: Patience, flags: &[&str]) -> Self {
        let is_plain = *place == Place::here() && flags.is_empty();
        let program = match is_plain.then(|| spare::take(patience)).flatten() {
            Some(program) => program,
            None => Program::start(place, patience, flags, is_plain).await,
        };
        let devtools = Devtools::connect(place, &program.port, &program.path).await;
        let context = devtools.ask(None, "Target.createBrowserContext", json!({})).await.expect("a profile");
        let context = context["browserContextId"].as_str().expect("a name").to_owned();
        Self { program: Some(program), devtools, context }
    }

    fn program(&mut self) -> &mut Program {
        self.program.as_mut().expect("it is there until it is dropped")
    }

    /// Lets pages of this origin use the microphone.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn grant_microphone(&self, origin: &str) {
        let params = json!({
            "origin": origin, "permissions": ["audioCapture"], "browserContextId": self.context,
        });
        self.devtools.ask(None, "Browser.grantPermissions", params).await.expect("permission");
    }

    /// Opens a tab on an empty page.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn tab(&self) -> Tab {
        let ask = async |method, params| self.devtools.ask(None, method, params).await.expect("a tab");
        let params = json!({ "url": "about:blank", "browserContextId": self.context });
        let target = ask("Target.createTarget", params).await;
        let params = json!({ "targetId": target["targetId"], "flatten": true });
        let session = ask("Target.attachToTarget", params).await["sessionId"].clone();
        let session = session.as_str().expect("a session").to_owned();
        let tab = Tab { devtools: self.devtools.clone(), session };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            tab.ask(domain, json!({})).await;
        }
        tab
    }

    /// Sends `SIGSTOP` to all of its processes.
    pub fn pause(&mut self) {
        let program = self.program();
        program.is_as_new = false;
        program.process.pause();
    }

    /// Sends `SIGCONT` to all of its processes.
    pub fn resume(&mut self) {
        self.program().process.resume();
    }

    /// Sends `SIGKILL` to all of its processes at once.
    pub fn kill(&mut self) {
        let program = self.program();
        program.is_as_new = false;
        program.process.kill();
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // After a failure the state of the browser is unknown, so no other test gets it.
        if let Some(program) = self.program.take().filter(|each| each.is_as_new && !std::thread::panicking())
        {
            spare::give_back(program, std::mem::take(&mut self.context));
        }
    }
}

/// A tab.
#[derive(Clone, Debug)]
pub struct Tab {
    devtools: Devtools,
    session: String,
}

impl Tab {
    /// Sends a command of the protocol.
    ///
    /// # Panics
    /// The command fails.
    pub async fn ask(&self, method: &'static str, params: Value) -> Value {
        self.try_ask(method, params).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends a command of the protocol that the browser may refuse for a moment.
    ///
    /// # Errors
    /// The browser's error message.
    pub async fn try_ask(&self, method: &'static str, params: Value) -> Result<Value, String> {
        self.devtools.ask(Some(&self.session), method, params).await
    }

    /// Loads an address and waits until the browser has begun to show it.
    ///
    /// # Panics
    /// The address cannot be loaded.
    pub async fn open(&self, url: &str) {
        let answer = self.ask("Page.navigate", json!({ "url": url })).await;
        assert!(answer.get("errorText").is_none(), "{url}: {answer}");
    }

    /// Runs an expression in the page, waits for its promise if it is one, and returns its value.
    ///
    /// # Errors
    /// The exception, or a message that the page changed meanwhile.
    pub async fn try_evaluate(&self, expression: &str) -> Result<Value, String> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.devtools.ask(Some(&self.session), "Runtime.evaluate", params).await?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(thrown["exception"]["description"].as_str().unwrap_or("thrown").to_owned()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Runs an expression and returns its value.
    ///
    /// # Panics
    /// The expression throws.
    pub async fn evaluate(&self, expression: &str) -> Value {
        let result = self.try_evaluate(expression).await;
        result.unwrap_or_else(|error| panic!("{expression}\nthrew {error}"))
    }

    /// Takes a picture of the page, as PNG.
    ///
    /// # Panics
    /// The browser gives no picture.
    pub async fn screenshot(&self) -> Vec<u8> {
        self.picture("png", 100).await
    }

    /// Takes a picture of the tab, in a format that the browser knows. The quality is at most 100, and ignored for
    /// PNG.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn picture(&self, format: &str, quality: u8) -> Vec<u8> {
        let params = match format {
            "png" => json!({ "format": format }),
            _ => json!({ "format": format, "quality": quality, "optimizeForSpeed": true }),
        };
        let answer = self.ask("Page.captureScreenshot", params).await;
        let data = answer["data"].as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD.decode(data).expect("base64")
    }

    /// The events of this tab that the browser has sent so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let mut events = self.devtools.events();
        events.retain(|event| event.session == self.session);
        events
    }

    /// Uncaught exceptions, crashes, and all other errors in the console. Errors about failed fetches and connections
    /// are left out, because tests kill relays and hosts.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let is_failure = |event: &Event| match event.method.as_str() {
            "Runtime.exceptionThrown" | "Inspector.targetCrashed" => true,
            "Runtime.consoleAPICalled" => matches!(event.params["type"].as_str(), Some("error" | "assert")),
            "Log.entryAdded" => {
                let entry = &event.params["entry"];
                let of_network = entry["source"] == "network"
                    || entry["text"].as_str().is_some_and(|text| text.starts_with("WebSocket connection to"));
                entry["level"] == "error" && !of_network
            }
            _ => false,
        };
        self.events().iter().filter(|event| is_failure(event)).map(line).collect()
    }

    /// The console: the page's output, and the browser's own messages.
    #[must_use]
    pub fn console(&self) -> Vec<String> {
        let events = self.events();
        let console = events.iter().filter(|event| !event.method.starts_with("Network."));
        console.map(line).collect()
    }

    /// The host and port of all addresses that were requested since `Network.enable`.
    #[must_use]
    pub fn hosts(&self) -> BTreeSet<String> {
        let url = |event: &Event| match event.method.as_str() {
            "Network.requestWillBeSent" => event.params["request"]["url"].as_str().map(str::to_owned),
            "Network.webSocketCreated" => event.params["url"].as_str().map(str::to_owned),
            _ => None,
        };
        let events = self.events();
        events.iter().filter_map(url).filter_map(|url| host(&url)).collect()
    }
}

/// Host and port of an address; `None` for data in the address itself.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once(':')?;
    let rest = rest.strip_prefix("//")?;
    (!matches!(scheme, "data" | "blob")).then(|| rest.split('/').next().unwrap_or_default().to_owned())
}

/// An event of the console in one line.
fn line(event: &Event) -> String {
    let params = &event.params;
    match event.method.as_str() {
        "Runtime.consoleAPICalled" => {
            let said = |value: &Value| {
                value["value"].as_str().map_or_else(|| value["description"].to_string(), str::to_owned)
            };
            let words: Vec<String> = params["args"].as_array().into_iter().flatten().map(said).collect();
            format!("{}: {}", params["type"].as_str().unwrap_or("log"), words.join(" "))
        }
        "Runtime.exceptionThrown" => {
            let details = &params["exceptionDetails"];
            let text = &details["exception"]["description"];
            format!("uncaught: {} {}", details["text"], text.as_str().unwrap_or(&text.to_string()))
        }
        "Log.entryAdded" => {
            let entry = &params["entry"];
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            format!("browser {}: {} {}", text("level"), text("text"), text("url"))
        }
        method => format!("{method}: {params}"),
    }
}
