"""The page of the interface: everything it needs is with it, under the same policy as everything else."""

from playwright.sync_api import expect

from tests.app.live import ADMIN

OPERATION = "#operations-keys-get_me"


def test_the_interface_can_be_read_and_tried(browser, server):
    context = browser.new_context()
    page, complaints, asked = context.new_page(), [], []
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    policy = page.goto(f"{server}/docs").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    expect(page.get_by_role("heading", name="AskNext").first).to_contain_text("AskNext")
    page.get_by_role("button", name="Authorize").first.click()
    page.locator(".auth-container input").fill(ADMIN)
    page.locator(".auth-btn-wrapper button[type=submit]").click()
    page.locator(".auth-btn-wrapper .btn-done").click()
    operation = page.locator(OPERATION)
    operation.locator("button.opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    expect(operation.locator(".live-responses-table")).to_contain_text('"role": "admin"')
    assert complaints == []
    assert [url for url in asked if not url.startswith((server, "data:", "blob:"))] == []
    context.close()


def test_the_scripts_come_with_their_licence(site):
    for name in ("swagger-ui-bundle.js", "swagger-ui.css", "swagger-ui.LICENSE.txt"):
        assert site.http.get(f"/vendor/{name}").status_code == 200
