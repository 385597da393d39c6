import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.*;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import javax.net.ssl.*;

/** Netty's HTTP/2 server with the answers of Benchmarks/Interop/servers.sh. */
public final class NettyServer {
    public static void main(String[] arguments) throws Exception {
        byte[] gone = arguments[3].getBytes(StandardCharsets.UTF_8), bad = arguments[4].getBytes(StandardCharsets.UTF_8);
        // Netty 4.1.48 does not find the ALPN of newer Javas, so the JDK's own engine does it.
        KeyStore keys = KeyStore.getInstance(new File(arguments[1].replace("server.pem", "server.p12")), "interop".toCharArray());
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, "interop".toCharArray());
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(managers.getKeyManagers(), null, null);
        ServerBootstrap server = new ServerBootstrap().group(new NioEventLoopGroup(1)).channel(NioServerSocketChannel.class)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override protected void initChannel(SocketChannel channel) {
                    SSLEngine engine = tls.createSSLEngine();
                    engine.setUseClientMode(false);
                    SSLParameters parameters = engine.getSSLParameters();
                    parameters.setApplicationProtocols(new String[] {"h2"});
                    engine.setSSLParameters(parameters);
                    channel.pipeline().addLast(new SslHandler(engine), Http2FrameCodecBuilder.forServer().build(),
                        new Http2MultiplexHandler(new ChannelInitializer<Channel>() {
                            @Override protected void initChannel(Channel stream) { stream.pipeline().addLast(new Answers(gone, bad)); }
                        }));
                }
            });
        server.bind("127.0.0.1", Integer.parseInt(arguments[0])).sync().channel().closeFuture().sync();
    }

    private static final class Answers extends ChannelInboundHandlerAdapter {
        private final byte[] gone, bad;
        private String path = "";

        Answers(byte[] gone, byte[] bad) { this.gone = gone; this.bad = bad; }

        @Override public void channelRead(ChannelHandlerContext context, Object message) {
            boolean isLast = false;
            if (message instanceof Http2HeadersFrame headers) {
                path = headers.headers().path().toString();
                isLast = headers.isEndStream();
            } else if (message instanceof Http2DataFrame data) {
                isLast = data.isEndStream();
            }
            ReferenceCountUtil.release(message);
            if (isLast) answer(context);
        }

        private void answer(ChannelHandlerContext context) {
            int status = path.matches("/3/device/0[0-7].*") ? 410 : path.startsWith("/3/device/08") ? 400 : 200;
            Http2Headers headers = new DefaultHttp2Headers().status(Integer.toString(status));
            context.write(new DefaultHttp2HeadersFrame(headers, status == 200));
            if (status != 200) context.write(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(status == 410 ? gone : bad), true));
            context.flush();
        }
    }
}
