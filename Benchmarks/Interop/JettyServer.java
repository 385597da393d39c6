import java.io.IOException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.server.*;
import org.eclipse.jetty.server.handler.AbstractHandler;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** Jetty's HTTP/2 server with the answers of Benchmarks/Interop/servers.sh. */
public final class JettyServer {
    public static void main(String[] arguments) throws Exception {
        SslContextFactory.Server tls = new SslContextFactory.Server();
        tls.setKeyStorePath(arguments[1].replace("server.pem", "server.p12"));
        tls.setKeyStorePassword("interop");
        HttpConfiguration http = new HttpConfiguration();
        http.addCustomizer(new SecureRequestCustomizer(false));
        HTTP2ServerConnectionFactory h2 = new HTTP2ServerConnectionFactory(http);
        ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory("h2");
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server, new SslConnectionFactory(tls, "alpn"), alpn, h2);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(arguments[0]));
        server.addConnector(connector);
        server.setHandler(new AbstractHandler() {
            @Override public void handle(String path, Request base, HttpServletRequest request, HttpServletResponse response)
                throws IOException {
                request.getInputStream().readAllBytes();
                int status = path.matches("/3/device/0[0-7].*") ? 410 : path.startsWith("/3/device/08") ? 400 : 200;
                response.setStatus(status);
                if (status != 200) response.getWriter().write(arguments[status == 410 ? 3 : 4]);
                base.setHandled(true);
            }
        });
        server.start();
        server.join();
    }
}
